#include "gateway/edge/grants.h"

#include <string.h>

#include "common/cleanup.h"

#define QUESTION_BYTES_MAX (PROPOSAL_PATH_MAX + 1024)

/* Every text with its length, so that no two questions look alike. False
 * when there is no memory for it. */
static bool digest_of(const struct proposal *question, uint8_t out[DIGEST_LEN])
{
	const struct bytes texts[] = {question->rule, question->method,
				      question->host, question->path,
				      question->credential};
	auto_type(buf_release) struct buf all;

	buf_init(&all, QUESTION_BYTES_MAX);
	if (buf_add_format(&all, "%u %u", (unsigned)question->scheme,
			   (unsigned)question->port) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (buf_add_format(&all, " %zu:", texts[i].len) < 0 ||
		    buf_add(&all, texts[i]) < 0)
			return false;
	digest_sha256(buf_view(&all), bytes_from(NULL, 0), out);
	return true;
}

void grants_add(struct grants *grants, const struct proposal *approved)
{
	struct grant *grant = &grants->grants[grants->next];

	if (approved->state != PROPOSAL_APPROVED ||
	    approved->scope == GRANT_ONCE || approved->id.len == 0)
		return;
	*grant = (struct grant){.until_ms = approved->until_ms};
	if (!digest_of(approved, grant->question))
		return;
	memcpy(grant->id, approved->id.data, approved->id.len);
	grants->next = (grants->next + 1) % GRANTS_MAX;
}

const struct grant *grants_find(const struct grants *grants,
				const struct proposal *question,
				uint64_t now_ms)
{
	uint8_t digest[DIGEST_LEN];

	if (!digest_of(question, digest))
		return NULL;
	for (size_t i = 0; i < GRANTS_MAX; i++) {
		const struct grant *grant = &grants->grants[i];

		if (grant->id[0] && now_ms < grant->until_ms &&
		    memcmp(grant->question, digest, DIGEST_LEN) == 0)
			return grant;
	}
	return NULL;
}
