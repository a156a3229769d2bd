/*
 * What of a policy stands in the sandbox itself, and stays as it was when the
 * sandbox began: mounts, environment, limits, who signs. The rest of a policy
 * may be replaced while its session runs.
 */
#ifndef POLICIES_INSIDE_H
#define POLICIES_INSIDE_H

#include "policies/policy.h"

/* May `to` take the place of `from` in a running session? NULL, or the part of
 * the policy that is in the way ("filesystem", "environment"...). A placeholder
 * that a program may hold must stay its credential's, or go; none is added. */
const char *policy_inside_differs(const struct policy *from,
				  const struct policy *to);

#endif
