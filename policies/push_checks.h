/*
 * What the content of a push must keep to: git[].push.protect, limits and
 * secrets. A push without such a rule streams through unread, unless a
 * fast-forward must be proven.
 */
#ifndef POLICIES_PUSH_CHECKS_H
#define POLICIES_PUSH_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "policies/policy_rule.h"

/* Of one policy; they travel in one message (gateway/flow/messages.h). */
#define PUSH_PROTECT_MAX     64
#define PUSH_PROTECT_LEN_MAX 255
/* No larger pack is ever looked at, so more is no limit. */
#define PUSH_LIMIT_BYTES_MAX   (512ull * 1024 * 1024)
#define PUSH_LIMIT_OBJECTS_MAX 5000000ull

struct push_checks {
	struct policy_strings protect; /* globs on paths in the repository */
	uint64_t pack_bytes_max;       /* 0: no limit; so are the others */
	uint64_t objects_max;
	uint64_t file_bytes_max;
	bool deny_secrets;
};

struct policy_repo;

/* The stricter of the repository's and its guardrail's; protect has the
 * repository's own alone: the guardrail's is repo->guard->checks.protect. */
struct push_checks push_checks_of(const struct policy_repo *repo);
/* Must the content be looked at, for the policy or its guardrail? */
bool push_checks_any(const struct policy_repo *repo);

#endif
