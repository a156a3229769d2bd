#include "policies/sign_rule.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "policies/decide.h"
#include "policies/ref.h"

bool sign_allows_tag(const struct policy *policy, struct bytes name)
{
	static const enum push_verb verbs[] = {PUSH_CREATE, PUSH_REWRITE};
	char ref[REF_NAME_MAX + 1];
	int len =
		snprintf(ref, sizeof(ref), "refs/tags/%.*s", BYTES_ARGS(name));
	struct push_facts facts = {.ref = bytes_str(ref)};
	bool needs_proof;

	/* What snprintf() took for the end is none. */
	if (len < 0 || (size_t)len >= sizeof(ref) ||
	    bytes_find(name, 0, 0) >= 0)
		return false;
	for (size_t i = 0; i < policy->repo_count; i++) {
		const struct policy_repo *repo = &policy->repos[i];

		for (size_t j = 0; repo->signs && j < ARRAY_SIZE(verbs); j++) {
			facts.verb = verbs[j];
			if (decide_push(repo, &facts, &needs_proof).kind ==
			    VERDICT_ALLOW)
				return true;
		}
	}
	return false;
}
