#include "policies/decide.h"
#include "policies/decide_rule.h"
#include "policies/rule_index.h"

/* Git's endpoints get a credential through `git` alone: a rule cannot see
 * which refs a push names. */
static bool is_git_lane(const struct request_facts *facts)
{
	struct bytes repo_path;
	enum git_endpoint endpoint = git_endpoint_of(facts, &repo_path);

	return endpoint != GIT_NONE && endpoint != GIT_DUMB;
}

static struct verdict allow(const struct policy_rule *rule,
			    const struct request_facts *facts)
{
	struct verdict verdict = verdict_allow(rule->name);

	if (rule->credential.len == 0)
		return verdict;
	if (!facts->is_tls)
		return verdict_deny(CONSTRAINT_scheme_not_allowed, rule->name,
				    rule->reason);
	if (is_git_lane(facts))
		return verdict_deny(CONSTRAINT_git_not_allowed, rule->name,
				    rule->reason);
	verdict.credential = rule->credential;
	return verdict;
}

struct verdict decide_request(const struct policy *policy,
			      const struct request_facts *facts,
			      struct buf *trace)
{
	enum rule_stage closest = RULE_HOST;
	const struct policy_rule *rule;
	struct candidates candidates;

	candidates_init(&candidates, policy, facts->target.host, trace != NULL);
	while ((rule = candidates_next(&candidates))) {
		enum rule_stage stage =
			rule_meets_request(rule, facts, candidates.is_indexed);

		trace_rule(trace, rule, stage);
		if (stage == RULE_MATCH && rule->action == POLICY_ALLOW)
			return allow(rule, facts);
		if (stage == RULE_MATCH)
			return verdict_deny(CONSTRAINT_denied_by_rule,
					    rule->name, rule->reason);
		if (rule->action == POLICY_ALLOW && stage > closest)
			closest = stage;
	}
	/* The host is known for its repositories; the rest of it is not. */
	if (closest < RULE_METHOD &&
	    decide_host_has_repo(policy, &facts->target))
		closest = RULE_PATH;
	return verdict_default(closest, trace);
}
