/*
 * What the content of a push must keep to: git[].push.protect, limits,
 * secrets and commits. A push without such a rule streams through unread,
 * unless a fast-forward must be proven.
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

#define PUSH_OPTION_PATTERNS_MAX 64
/* Of each regex, as written. */
#define PUSH_PATTERN_LEN_MAX 1024

/* What every commit of a push must be like; NULL: anything. */
struct push_commits {
	const struct pattern *author; /* "Name <address>" */
	const struct pattern *committer;
	const struct pattern *subject; /* the message's first line */
	const struct pattern *message; /* all of it, less its last LFs */
	uint64_t count_max;	       /* commits of one push; 0: no limit */
};

struct push_checks {
	struct policy_strings protect; /* globs on paths in the repository */
	uint64_t pack_bytes_max;       /* 0: no limit; so are the others */
	uint64_t objects_max;
	uint64_t file_bytes_max;
	bool deny_secrets;
	struct push_commits commits;
};

struct policy_repo;

/* The stricter of the repository's and its guardrail's; protect and commits
 * are the repository's own alone: the guardrail's are in
 * repo->guard->checks. */
struct push_checks push_checks_of(const struct policy_repo *repo);
bool push_commits_any(const struct push_commits *commits);
/* Are there protected paths, of the policy or its guardrail? */
bool push_protects_any(const struct policy_repo *repo);
/* Must the content be looked at, for the policy or its guardrail? */
bool push_checks_any(const struct policy_repo *repo);

#endif
