/*
 * ignore-violations: denials that are known, and that nobody wants to be
 * told of. They stay denied, and on record.
 */
#ifndef POLICIES_QUIET_H
#define POLICIES_QUIET_H

#include <stdbool.h>

#include "policies/policy_rule.h"

#define QUIET_PATTERNS_MAX 256

/* Does a pattern stand anywhere in text? '*' in it is any bytes, or none. */
bool quiet_covers(const struct policy_strings *patterns, struct bytes text);

#endif
