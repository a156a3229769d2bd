/*
 * Ref names from anybody: whatever is taken keeps git's rules, whatever
 * way it is looked at.
 */
#include <assert.h>
#include <stdint.h>

#include "policies/decide.h"
#include "policies/ref.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_valid(struct bytes ref)
{
	static const char *const refused[] = {
		"..", "//", "@{", "/.", ".lock/", "*", "?",
		"[",  "\\", "~",  "^",	":",	  " ", "/refs/"};

	assert(ref.len <= REF_NAME_MAX);
	assert(bytes_starts_with(ref, bytes_str("refs/")));
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert(bytes_find_bytes(ref, bytes_str(refused[i]), 0) < 0);
	assert(!bytes_ends_with(ref, bytes_str(".lock")));
	assert(!bytes_ends_with(ref, bytes_str(".")));
	assert(!bytes_ends_with(ref, bytes_str("/")));
}

/* A repository that opens one branch opens that branch. */
static void check_push(struct bytes ref)
{
	static const struct bytes branch = BYTES_LITERAL("agent/42");
	const struct policy_repo repo = {
		.branches = {&branch, 1},
		.verbs = VERB_CREATE | VERB_FAST_FORWARD,
	};
	const struct push_facts facts = {ref, PUSH_CREATE};
	bool needs_proof;
	struct verdict verdict = decide_push(&repo, &facts, &needs_proof);

	assert((verdict.kind == VERDICT_ALLOW) ==
	       bytes_is(ref, "refs/heads/agent/42"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes ref = bytes_from(data, len);

	if (ref_is_valid(ref))
		check_valid(ref);
	check_push(ref);
	return 0;
}
