/*
 * A scope narrowed to what the guardrail leaves of it.
 */
#ifndef POLICIES_SCOPE_GUARD_H
#define POLICIES_SCOPE_GUARD_H

#include "policies/scope.h"

/* guard: the scope of policy's guardrail, which is there. What of two
 * patterns of refs lies in both is kept where one covers the other by its
 * look; else nothing of them is. 0, or -1 when it is too large. */
int scope_narrow(struct scope *scope, const struct scope *guard,
		 const struct policy *policy, struct arena *arena);

#endif
