/*
 * What the decisions share: one rule against the facts, and verdicts.
 */
#ifndef POLICIES_DECIDE_RULE_H
#define POLICIES_DECIDE_RULE_H

#include "common/buf.h"
#include "policies/facts.h"
#include "policies/hearing.h"
#include "policies/policy.h"
#include "policies/verdict.h"

/* How far a rule went along with the facts: what differed first. */
enum rule_stage {
	RULE_HOST,
	RULE_PORT,
	RULE_METHOD,
	RULE_PATH,
	RULE_WEBSOCKET,
	RULE_QUERY,
	RULE_HEADER,
	RULE_BODY_TOO_LARGE,
	RULE_BODY_UNREADABLE,
	RULE_BODY,
	RULE_GRAPHQL,
	RULE_SECRET,
	RULE_LOOK, /* the body must be seen to know */
	RULE_MATCH,
	RULE_STAGE_MAX
};

/* Host and port alone: RULE_HOST, RULE_PORT or RULE_MATCH. is_host: the
 * host is known to match. */
enum rule_stage rule_meets_target(const struct policy_rule *rule,
				  const struct target_facts *facts,
				  bool is_host);

/* What a rule has to do with a request. */
struct meeting {
	enum rule_stage stage; /* RULE_MATCH: it decides */
	/* A rule that asks matches in part only: nobody can be asked about
	 * what is in doubt, so it denies, for what stage says. */
	bool is_doubtful;
};
/* Take one more condition in: what it is called when it does not hold. False:
 * then the rule does not match. */
bool meeting_add(struct meeting *meeting, const struct policy_rule *rule,
		 enum rule_stage stage, enum holds holds);
/* The whole rule. What differed stands in hearing->differs. */
struct meeting rule_meets_request(const struct policy_rule *rule,
				  struct hearing *hearing, bool is_host);

/* What to call it when this is the closest any allow rule came. */
enum constraint rule_stage_constraint(enum rule_stage stage);

/* Append "name: words" as a line of its own; trace may be NULL. */
void trace_add(struct buf *trace, struct bytes name, const char *words);
/* The same for a rule: what differed; detail may be empty. */
void trace_rule(struct buf *trace, const struct policy_rule *rule,
		enum rule_stage stage, struct bytes detail);

/* rule is the rule's name; an empty reason is fine. */
struct verdict verdict_allow(struct bytes rule);
struct verdict verdict_deny(enum constraint constraint, struct bytes rule,
			    struct bytes reason);
/* The rule's own answer: allow, ask or denied_by_rule. */
struct verdict verdict_by(const struct policy_rule *rule);
/* No rule spoke about host: name "default". */
struct verdict verdict_default(const struct policy *policy,
			       const struct target_facts *facts,
			       enum rule_stage closest, struct buf *trace);

#endif
