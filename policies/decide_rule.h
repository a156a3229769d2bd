/*
 * What the decisions share: one rule against the facts, and verdicts.
 */
#ifndef POLICIES_DECIDE_RULE_H
#define POLICIES_DECIDE_RULE_H

#include "common/buf.h"
#include "policies/facts.h"
#include "policies/policy.h"
#include "policies/verdict.h"

/* How far a rule went along with the facts: what differed first. */
enum rule_stage {
	RULE_HOST,
	RULE_PORT,
	RULE_METHOD,
	RULE_PATH,
	RULE_MATCH,
	RULE_STAGE_MAX
};

/* Host and port alone: RULE_HOST, RULE_PORT or RULE_MATCH. is_host: the
 * host is known to match. */
enum rule_stage rule_meets_target(const struct policy_rule *rule,
				  const struct target_facts *facts,
				  bool is_host);
/* The whole rule. */
enum rule_stage rule_meets_request(const struct policy_rule *rule,
				   const struct request_facts *facts,
				   bool is_host);
/* Does the rule ask for more than host and port? */
bool rule_is_conditional(const struct policy_rule *rule);
/* What to call it when this is the closest any allow rule came. */
enum constraint rule_stage_constraint(enum rule_stage stage);

/* Append "name: words" as a line of its own; trace may be NULL. */
void trace_add(struct buf *trace, struct bytes name, const char *words);
/* The same for a rule: what differed. */
void trace_rule(struct buf *trace, const struct policy_rule *rule,
		enum rule_stage stage);

/* rule is the rule's name; an empty reason is fine. */
struct verdict verdict_allow(struct bytes rule);
struct verdict verdict_deny(enum constraint constraint, struct bytes rule,
			    struct bytes reason);
/* No rule spoke: name "default". */
struct verdict verdict_default(enum rule_stage closest, struct buf *trace);

#endif
