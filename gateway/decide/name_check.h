/*
 * A name that only a wildcard allows can carry what its asker wants to tell
 * the one who serves that domain (security C5): it is kept short, no label of
 * it may look like data, and what it tells is measured, for a budget. Pure.
 *
 * Told is measured as entropy: the length times the bits a letter, by how
 * often each letter stands there. Random letters cost about 5 bits each, hex
 * 4, words less.
 */
#ifndef GATEWAY_DECIDE_NAME_CHECK_H
#define GATEWAY_DECIDE_NAME_CHECK_H

#include "policies/policy.h"

/* What any name tells, since it is one of many. */
#define NAME_BITS_MIN 8

/* Why an allowed canonical name may not be looked up all the same (a
 * literal), or NULL: it is short enough and no label of it tells more than
 * network.limits.wildcard-label-bits, or a rule or a repository names it as
 * it is. */
const char *name_fault(const struct policy *policy, struct bytes name);

/* How many bits the labels tell that a wildcard leaves open: at least
 * NAME_BITS_MIN, or 0 for a name that stands in the policy. */
unsigned name_bits(const struct policy *policy, struct bytes name);

#endif
