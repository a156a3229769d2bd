/*
 * The words of one rule, and those that sections share. Private to
 * explain*.c. Each appends to out: 0, or -1 when it has no room.
 */
#ifndef POLICIES_EXPLAIN_RULE_H
#define POLICIES_EXPLAIN_RULE_H

#include "common/buf.h"
#include "policies/policy.h"

int explain_rule(const struct policy_rule *rule, struct buf *out);
/* "`a`, `b` and `c`"; of a long list its first ones. */
int explain_list(struct buf *out, const struct policy_strings *list);
/* What a push may hold, as lines below its repository. */
int explain_push(const struct policy_repo *repo, struct buf *out);
/* The section of `commands`; nothing where it is not set. */
int explain_commands(const struct policy *policy, struct buf *out);
/* "4 GiB". */
int explain_bytes(struct buf *out, uint64_t bytes);
/* "2 h". */
int explain_period(struct buf *out, uint64_t ms);
/* before, the limits, and the line's end; nothing where there is none. */
int explain_rate(struct buf *out, const char *before,
		 const struct policy_rate *rate);

#endif
