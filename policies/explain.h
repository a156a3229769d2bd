/*
 * A policy in words, fit for the prompt of an agent that works under it:
 * what it may do, what it may ask for, what is refused. Says what the policy
 * says and nothing that is secret: credentials are names.
 */
#ifndef POLICIES_EXPLAIN_H
#define POLICIES_EXPLAIN_H

#include "common/buf.h"
#include "policies/policy.h"

/* Rules are told until so much is written; then how many more there are. */
#define EXPLAIN_RULES_BYTES (256 * 1024)

/* Append the words, as lines of Markdown. 0, or -1 when out has no room. */
int policy_explain(const struct policy *policy, struct buf *out);

#endif
