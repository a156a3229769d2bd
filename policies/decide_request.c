#include "policies/decide.h"
#include "policies/decide_rule.h"
#include "policies/guardrail.h"
#include "policies/lfs.h"
#include "policies/rule_index.h"

/* Git's endpoints get a credential through `git` alone: a rule cannot see
 * which refs a push names. */
static bool is_git_lane(const struct request_facts *facts)
{
	struct bytes repo_path;
	enum git_endpoint endpoint = git_endpoint_of(facts, &repo_path);
	struct lfs_path lfs;

	return (endpoint != GIT_NONE && endpoint != GIT_DUMB) ||
	       lfs_path_split(facts->path, &lfs);
}

/* The rule's answer, less what a credential forbids. */
static struct verdict speak(const struct policy *policy,
			    const struct policy_rule *rule,
			    const struct request_facts *facts)
{
	struct verdict verdict = verdict_by(rule);
	enum constraint missed = CONSTRAINT_none;
	const struct policy_credential *credential;

	if (rule->credential.len == 0)
		return verdict;
	if (!facts->is_tls)
		return verdict_deny(CONSTRAINT_scheme_not_allowed, rule->name,
				    rule->reason);
	if (is_git_lane(facts))
		return verdict_deny(CONSTRAINT_git_not_allowed, rule->name,
				    rule->reason);
	credential = policy_credential_named(policy, rule->credential);
	if (credential)
		missed = credential_covers(credential, facts->target.port,
					   facts->method, facts->path);
	if (missed != CONSTRAINT_none)
		return verdict_deny(missed, rule->name, rule->reason);
	verdict.credential = rule->credential;
	return verdict;
}

static struct verdict doubt(const struct policy_rule *rule,
			    enum rule_stage stage)
{
	return verdict_deny(rule_stage_constraint(stage), rule->name,
			    rule->reason);
}

/* How the rules so far stand to a request. */
struct course {
	enum rule_stage closest; /* of those that let pass */
	struct bytes differs;	 /* there */
	/* Those that may match once the body is seen. */
	const struct policy_rule *first;
	uint64_t look_max;
	bool may_pass; /* one of them lets pass */
};

static struct verdict nobody(const struct policy *policy,
			     const struct request_facts *facts,
			     const struct course *course, struct buf *trace)
{
	enum rule_stage closest = course->closest;
	struct verdict verdict;

	/* The host is known for its repositories; the rest of it is not. */
	if (closest < RULE_METHOD &&
	    decide_host_has_repo(policy, &facts->target))
		closest = RULE_PATH;
	/* A person cannot say which messages may pass. */
	if (facts->is_websocket && policy->fallback == POLICY_ASK)
		closest = RULE_WEBSOCKET;
	verdict = verdict_default(policy, &facts->target, closest, trace);
	if (verdict.kind == VERDICT_DENY && closest > RULE_HEADER)
		verdict.reason = course->differs;
	return verdict;
}

static void course_add(struct course *course, const struct policy_rule *rule,
		       enum rule_stage stage, struct bytes differs)
{
	if (stage == RULE_LOOK) {
		if (!course->first)
			course->first = rule;
		if (rule->body->max > course->look_max)
			course->look_max = rule->body->max;
		course->may_pass |= rule->action != POLICY_DENY;
	} else if (rule->action != POLICY_DENY && stage > course->closest) {
		course->closest = stage;
		course->differs = differs;
	}
}

/* What is said, unless the body could change it. */
static struct verdict settle(const struct course *course,
			     struct verdict verdict)
{
	if (!course->first ||
	    (verdict.kind == VERDICT_DENY && !course->may_pass))
		return verdict;
	return (struct verdict){
		.kind = VERDICT_LOOK,
		.constraint = CONSTRAINT_body_unreadable,
		.rule = course->first->name,
		.look_max = course->look_max,
	};
}

static struct verdict decide(const struct policy *policy,
			     struct hearing *hearing, struct buf *trace)
{
	const struct request_facts *facts = hearing->facts;
	struct course course = {.closest = RULE_HOST};
	const struct policy_rule *rule;
	struct candidates candidates;

	candidates_init(&candidates, policy, facts->target.host, trace != NULL);
	while ((rule = candidates_next(&candidates))) {
		struct meeting meeting = rule_meets_request(
			rule, hearing, candidates.is_indexed);

		trace_rule(trace, rule, meeting.stage, hearing->differs);
		if (meeting.is_doubtful)
			return settle(&course, doubt(rule, meeting.stage));
		if (meeting.stage == RULE_MATCH)
			return settle(&course, speak(policy, rule, facts));
		course_add(&course, rule, meeting.stage, hearing->differs);
	}
	return settle(&course, nobody(policy, facts, &course, trace));
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
	return guard_request(policy, facts, verdict, trace);
}
