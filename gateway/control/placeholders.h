/*
 * The placeholders of a new session, for whoever starts its programs.
 */
#ifndef GATEWAY_CONTROL_PLACEHOLDERS_H
#define GATEWAY_CONTROL_PLACEHOLDERS_H

#include <jansson.h>

#include "policies/policy.h"

/* The variables that the policy's credentials name, each with its value in
 * the session of this lease: an object, or NULL when memory is out. */
json_t *placeholders_json(const struct policy *policy, const char *lease);

#endif
