/*
 * What git gives its signing program. What is accepted is one commit or one
 * tag, of the author, without a signature, whose parts lie in it.
 */
#include <assert.h>

#include "gateway/git/refs.h"
#include "gateway/git/signable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct policy_sign sign = {
	.is_on = true,
	.name = BYTES_LITERAL("A"),
	.email = BYTES_LITERAL("a@b"),
};

static bool lies_in(struct bytes part, struct bytes whole)
{
	return part.data >= whole.data &&
	       part.data + part.len <= whole.data + whole.len;
}

/* Lines of the headers that begin so. */
static size_t count_of(struct bytes headers, const char *begin)
{
	struct bytes line;
	size_t count = 0;
	bool more = true;

	while (more) {
		more = bytes_split(&headers, '\n', &line);
		count += bytes_starts_with(line, bytes_str(begin));
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes object = bytes_from(data, size);
	struct bytes headers;
	struct signable found;
	struct err err = {.text = ""};
	ptrdiff_t end;

	if (signable_read(object, &sign, &found, &err) < 0) {
		assert(err.text[0]);
		return 0;
	}
	end = bytes_find_bytes(object, bytes_str("\n\n"), 0);
	assert(end > 0);
	headers = bytes_slice(object, 0, (size_t)end);
	assert(lies_in(found.oid, headers));
	assert(git_oid_is_valid(found.oid, 0));
	assert(count_of(headers, "gpgsig") == 0);
	assert(bytes_find(object, 0, 0) < 0);
	if (found.tag.len > 0) {
		assert(lies_in(found.tag, headers));
		assert(count_of(headers, "tagger A <a@b> ") == 1);
		assert(count_of(headers, "") == 4);
	} else {
		assert(count_of(headers, "tree ") == 1);
		assert(count_of(headers, "author A <a@b> ") == 1);
		assert(count_of(headers, "committer A <a@b> ") == 1);
	}
	return 0;
}
