/*
 * Whether a rule's body condition holds.
 */
#ifndef POLICIES_DECIDE_BODY_H
#define POLICIES_DECIDE_BODY_H

#include "policies/decide_rule.h"

/* The rule's body, which is there, at the end of a meeting so far matched:
 * RULE_LOOK when the body was not looked at yet. */
void meet_body(struct meeting *meeting, const struct policy_rule *rule,
	       struct hearing *hearing);

/* Its graphql alone, with the body there. False: it does not match. */
bool meet_graphql(struct meeting *meeting, const struct policy_rule *rule,
		  struct hearing *hearing);

#endif
