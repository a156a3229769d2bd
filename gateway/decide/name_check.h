/*
 * A name that only a wildcard allows can carry what its asker wants to tell
 * the one who serves that domain (security C5): it is kept short. Pure.
 */
#ifndef GATEWAY_DECIDE_NAME_CHECK_H
#define GATEWAY_DECIDE_NAME_CHECK_H

#include "policies/policy.h"

#define NAME_CHECK_REASON                                                      \
	"a name that a wildcard allows may have labels of 48 bytes and 128 "   \
	"bytes in all"

/* May an allowed canonical name be looked up: is it short enough, or one
 * that a rule or a repository names as it is? */
bool name_check(const struct policy *policy, struct bytes name);

#endif
