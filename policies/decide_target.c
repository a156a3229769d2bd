#include "policies/decide.h"
#include "policies/decide_rule.h"
#include "policies/host.h"
#include "policies/rule_index.h"

static bool is_tunnel(const struct policy *policy, struct bytes host)
{
	for (size_t i = 0; i < policy->tunnel.count; i++)
		if (host_matches(policy->tunnel.items[i], host))
			return true;
	return false;
}

static struct verdict allow_repo(struct buf *trace)
{
	static const struct bytes name = BYTES_LITERAL("git");
	struct verdict verdict = verdict_allow(name);

	trace_add(trace, name, "a repository is here: allow");
	verdict.inspect = true;
	return verdict;
}

/* What the rules that could decide here say, up to the first that leaves
 * nothing open. */
struct scan {
	const struct policy_rule *allow; /* the first that could */
	const struct policy_rule *deny;	 /* it denies the rest */
	bool must_inspect;
	enum rule_stage closest;
};

/* One rule that meets host and port. True: nothing after it counts. */
static bool scan_match(struct scan *scan, const struct policy_rule *rule,
		       bool tunnel)
{
	bool is_conditional = rule_is_conditional(rule);

	/* Nobody will look inside a tunnel: what needs it does not count. */
	if (is_conditional && tunnel)
		return false;
	scan->must_inspect |= is_conditional;
	if (rule->action == POLICY_ALLOW && !scan->allow)
		scan->allow = rule;
	if (rule->action == POLICY_DENY && !is_conditional)
		scan->deny = rule;
	return !is_conditional;
}

static void scan_rules(const struct policy *policy,
		       const struct target_facts *facts, bool tunnel,
		       struct scan *scan, struct buf *trace)
{
	const struct policy_rule *rule;
	struct candidates candidates;

	candidates_init(&candidates, policy, facts->host, trace != NULL);
	while ((rule = candidates_next(&candidates))) {
		enum rule_stage stage =
			rule_meets_target(rule, facts, candidates.is_indexed);

		trace_rule(trace, rule, stage);
		if (rule->action == POLICY_ALLOW && stage > scan->closest)
			scan->closest = stage;
		if (stage == RULE_MATCH && scan_match(scan, rule, tunnel))
			return;
	}
}

struct verdict decide_target(const struct policy *policy,
			     const struct target_facts *facts,
			     struct buf *trace)
{
	struct scan scan = {.closest = RULE_HOST};
	bool tunnel = is_tunnel(policy, facts->host);
	struct verdict verdict;

	if (decide_host_has_repo(policy, facts))
		return allow_repo(trace);
	scan_rules(policy, facts, tunnel, &scan, trace);
	if (scan.allow) {
		verdict = verdict_allow(scan.allow->name);
		verdict.inspect =
			(scan.must_inspect || policy->inspect_all) && !tunnel;
		return verdict;
	}
	if (scan.deny)
		return verdict_deny(CONSTRAINT_denied_by_rule, scan.deny->name,
				    scan.deny->reason);
	/* A rule that asks for more than a tunnel shows came no closer. */
	if (scan.closest == RULE_MATCH)
		scan.closest = RULE_HOST;
	return verdict_default(scan.closest, trace);
}
