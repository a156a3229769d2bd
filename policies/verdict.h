/*
 * The answer to "may this pass?": a successful answer, also when it is no.
 * Plain data; rule and reason borrow from the policy.
 */
#ifndef POLICIES_VERDICT_H
#define POLICIES_VERDICT_H

#include "common/bytes.h"
#include "policies/constraint.h"

enum verdict_kind { VERDICT_DENY, VERDICT_ALLOW, VERDICT_KIND_MAX };

struct verdict {
	enum verdict_kind kind;
	enum constraint constraint; /* none when allowed */
	struct bytes rule;   /* name of the rule; "default" for the default */
	struct bytes reason; /* the rule's own words; may be empty */
	struct bytes credential; /* name of the binding to attach; or empty */
	bool inspect; /* target: TLS must be terminated to decide or edit */
};

#endif
