/*
 * Rows of the ledger from anybody, one JSON object a line: what is learnt of
 * them is a policy, under which each request that it was learnt of passes.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/policy/learned.h"
#include "policies/decide.h"

#define TEXT_MAX (4 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void take_lines(struct learned *learned, struct bytes rows)
{
	while (rows.len > 0) {
		struct bytes line;
		struct err err;
		json_t *row;

		(void)bytes_split(&rows, '\n', &line);
		row = json_loadb((const char *)line.data, line.len, 0, NULL);
		if (row)
			(void)learned_take(learned, row, &err);
		json_decref(row);
	}
}

/* Where no rule attaches a credential the first that matches lets pass. */
static void check_requests(const struct learned *learned,
			   const struct policy *policy)
{
	static const char *const methods[] = {
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
	};

	for (const struct learned_request *request = learned->requests; request;
	     request = request->hh.next) {
		const struct request_facts facts = {
			.target = {request->host, request->port},
			.method = bytes_str(request->method < LEARNED_METHOD_MAX
						    ? methods[request->method]
						    : "GET"),
			.path = request->path,
		};

		if (request->method < LEARNED_METHOD_MAX &&
		    learned_is_wanted(learned, request))
			assert(decide_request(policy, &facts, NULL).kind ==
			       VERDICT_ALLOW);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct policy_errors errors = {.file = "learned"};
	struct learned *learned = calloc(1, sizeof(*learned));
	struct policy *policy;
	struct buf out;
	struct err err;
	int written;

	if (!learned || len == 0) {
		free(learned);
		return 0;
	}
	buf_init(&out, TEXT_MAX);
	learned_init(learned, NULL, data[0] & 1);
	take_lines(learned, bytes_from(data + 1, len - 1));
	written = learned_write(learned, bytes_str("fuzz"), &out, &err);
	assert(written == 0 || err.code == ERR_TOO_LARGE);
	if (written == 0) {
		policy = policy_compile(buf_view(&out), NULL, &errors);
		assert(policy);
		check_requests(learned, policy);
		policy_free(policy);
	}
	learned_release(learned);
	free(learned);
	buf_release(&out);
	return 0;
}
