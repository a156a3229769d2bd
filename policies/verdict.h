/*
 * The answer to "may this pass?": a successful answer, also when it is no.
 * Plain data; rule and reason borrow from the policy.
 */
#ifndef POLICIES_VERDICT_H
#define POLICIES_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "policies/constraint.h"

enum verdict_kind {
	VERDICT_DENY,
	VERDICT_ALLOW,
	VERDICT_ASK,  /* a person decides: hold_ms, then deny */
	VERDICT_LOOK, /* the body decides: hold up to look_max bytes of it, and
			 ask again with what it holds */
	VERDICT_KIND_MAX
};

struct policy_rule;

struct verdict {
	enum verdict_kind kind;
	enum constraint constraint; /* none when allowed */
	struct bytes rule;   /* name of the rule; "default" for the default */
	struct bytes reason; /* the rule's own words; may be empty */
	struct bytes credential; /* name of the binding to attach; or empty */
	/* The rule that decided, NULL when it was none: its rate, websocket
	 * and hold. */
	const struct policy_rule *by;
	/* The guardrail's rule that allowed it too: its rate and websocket hold
	 * beside those of `by`. NULL: there is none. */
	const struct policy_rule *guard;
	uint64_t look_max; /* LOOK */
	uint32_t hold_ms;  /* ASK */
	bool inspect; /* target: TLS must be terminated to decide or edit */
};

#endif
