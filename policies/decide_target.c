#include "policies/decide.h"
#include "policies/decide_rule.h"
#include "policies/guardrail.h"
#include "policies/host.h"
#include "policies/rule_index.h"

bool decide_is_tunnel(const struct policy *policy, struct bytes host)
{
	for (size_t i = 0; i < policy->tunnel.count; i++)
		if (host_matches(policy->tunnel.items[i], host))
			return true;
	return false;
}

static struct verdict allow_repo(const struct policy *policy, struct buf *trace)
{
	const struct bytes name =
		bytes_str(policy->is_guardrail ? "guardrail/git" : "git");
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
	const struct policy_rule *ask;	 /* about a tunnel as a whole */
	bool must_inspect;
	enum rule_stage closest;
};

/* A tunnel: nobody will look inside, so what needs it does not count; but a
 * person may be asked about all of it. */
static bool scan_tunnel(struct scan *scan, const struct policy_rule *rule)
{
	bool asks = rule->action == POLICY_ASK;

	if (rule_is_conditional(rule) || (!asks && rule_looks_inside(rule)))
		return false;
	if (rule->action == POLICY_ALLOW)
		scan->allow = rule;
	else if (asks)
		scan->ask = rule;
	else
		scan->deny = rule;
	return true;
}

/* One rule that meets host and port. True: nothing after it counts. */
static bool scan_match(struct scan *scan, const struct policy_rule *rule)
{
	bool is_conditional = rule_is_conditional(rule);

	scan->must_inspect |= rule_looks_inside(rule);
	if (rule->action != POLICY_DENY && !scan->allow)
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

		trace_rule(trace, rule, stage, bytes_from(NULL, 0));
		if (rule->action != POLICY_DENY && stage > scan->closest)
			scan->closest = stage;
		if (stage == RULE_MATCH &&
		    (tunnel ? scan_tunnel(scan, rule) : scan_match(scan, rule)))
			return;
	}
}

static struct verdict decide(const struct policy *policy,
			     const struct target_facts *facts,
			     struct buf *trace)
{
	struct scan scan = {.closest = RULE_HOST};
	bool tunnel = decide_is_tunnel(policy, facts->host);
	struct verdict verdict;

	if (decide_host_has_repo(policy, facts))
		return allow_repo(policy, trace);
	scan_rules(policy, facts, tunnel, &scan, trace);
	if (scan.allow) {
		verdict = verdict_allow(scan.allow->name);
		verdict.by = scan.allow;
		verdict.inspect = (scan.must_inspect || policy->inspect_all ||
				   policy->script.len) &&
				  !tunnel;
		return verdict;
	}
	if (scan.ask || scan.deny)
		return verdict_by(scan.ask ? scan.ask : scan.deny);
	/* A rule that asks for more than a tunnel shows came no closer. */
	if (scan.closest == RULE_MATCH)
		scan.closest = RULE_HOST;
	verdict = verdict_default(policy, facts, scan.closest, trace);
	/* A person is asked about requests, where there are some. */
	if (verdict.kind == VERDICT_ASK && !tunnel)
		verdict = (struct verdict){.kind = VERDICT_ALLOW,
					   .rule = verdict.rule,
					   .inspect = true};
	return verdict;
}

struct verdict decide_target(const struct policy *policy,
			     const struct target_facts *facts,
			     struct buf *trace)
{
	struct verdict own = decide(policy, facts, trace);

	return guard_target(policy, facts, own, trace);
}
