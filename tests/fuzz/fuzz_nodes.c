/*
 * What somebody says of GitHub's nodes: it holds, or there is a sentence why
 * not; and it never holds without the names that were asked for.
 */
#include <assert.h>

#include "policies/nodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool has(struct bytes text, const char *word)
{
	return bytes_find_bytes(text, bytes_str(word), 0) >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct policy_node asked[] = {
		{bytes_str("a.b"), bytes_str("o/n"), bytes_str("")},
		{bytes_str("a.c"), bytes_str("o/n"), bytes_str("agent")},
	};
	const struct node_questions questions = {
		.items = {{bytes_str("I_1"), &asked[0]},
			  {bytes_str("PR_2"), &asked[1]}},
		.count = 2,
	};
	struct bytes reply = bytes_from(data, len);
	struct buf why;
	bool holds;

	buf_init(&why, NODES_WHY_MAX);
	holds = nodes_hold(&questions, reply, &why);
	assert(holds == (buf_len(&why) == 0));
	/* Unless they stand there in JSON's escapes. */
	if (holds && bytes_find(reply, '\\', 0) < 0)
		assert(has(reply, "PullRequest") && has(reply, "agent") &&
		       has(reply, "headRepository"));
	buf_release(&why);
	return 0;
}
