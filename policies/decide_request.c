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

/* The rule's answer, less what a credential forbids. */
static struct verdict speak(const struct policy_rule *rule,
			    const struct request_facts *facts)
{
	struct verdict verdict = verdict_by(rule);

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

static struct verdict doubt(const struct policy_rule *rule,
			    enum rule_stage stage)
{
	return verdict_deny(rule_stage_constraint(stage), rule->name,
			    rule->reason);
}

static struct verdict nobody(const struct policy *policy,
			     const struct request_facts *facts,
			     enum rule_stage closest, struct buf *trace)
{
	/* The host is known for its repositories; the rest of it is not. */
	if (closest < RULE_METHOD &&
	    decide_host_has_repo(policy, &facts->target))
		closest = RULE_PATH;
	/* A person cannot say which messages may pass. */
	if (facts->is_websocket && policy->fallback == POLICY_ASK)
		closest = RULE_WEBSOCKET;
	return verdict_default(policy, &facts->target, closest, trace);
}

static struct verdict decide(const struct policy *policy,
			     struct hearing *hearing, struct buf *trace)
{
	const struct request_facts *facts = hearing->facts;
	enum rule_stage closest = RULE_HOST;
	const struct policy_rule *rule;
	struct candidates candidates;

	candidates_init(&candidates, policy, facts->target.host, trace != NULL);
	while ((rule = candidates_next(&candidates))) {
		struct meeting meeting = rule_meets_request(
			rule, hearing, candidates.is_indexed);

		trace_rule(trace, rule, meeting.stage, hearing->differs);
		if (meeting.is_doubtful)
			return doubt(rule, meeting.stage);
		if (meeting.stage == RULE_MATCH)
			return speak(rule, facts);
		if (rule->action != POLICY_DENY && meeting.stage > closest)
			closest = meeting.stage;
	}
	return nobody(policy, facts, closest, trace);
}

struct verdict decide_request(const struct policy *policy,
			      const struct request_facts *facts,
			      struct buf *trace)
{
	struct hearing hearing;
	struct verdict verdict;

	hearing_init(&hearing, facts);
	verdict = decide(policy, &hearing, trace);
	hearing_release(&hearing);
	return verdict;
}
