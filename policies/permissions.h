/*
 * What a session's lease is bounded by (interface.md 6): permissions on the
 * session's own repository, written "push:<branch>", "pull:<branch>" and
 * "read:repo", one blank between them. What the session may do with git is
 * what both its policy and its lease say.
 *
 *	push:agent/42	may push that branch, by the policy's verbs
 *	pull:main	may read the repository, and so
 *	read:repo	does this: git cannot limit a read to a branch
 *
 * Tags and other repositories are not in a lease, so are not open either.
 * Text without any permission bounds nothing: the session has none.
 */
#ifndef POLICIES_PERMISSIONS_H
#define POLICIES_PERMISSIONS_H

#include "common/buf.h"
#include "policies/policy.h"

#define PERMISSIONS_MAX	      64
#define PERMISSIONS_BYTES_MAX 8192

/* Is it one permission (untrusted)? 0, or -1 with *err. */
int permission_check(struct bytes permission, struct err *err);

/* Narrow one repository of a policy; session_repo is the session's own, a
 * URL, or empty. What is new lives in arena. 0, or -1 with *err. */
int permissions_narrow(struct bytes permissions, struct bytes session_repo,
		       struct arena *arena, struct policy_repo *repo,
		       struct err *err);

/* Append what a session may do with its own repository, as permissions: its
 * policy's patterns where no lease narrowed them. 0, or -1: no room. */
int permissions_write(const struct policy *policy, struct bytes session_repo,
		      struct buf *out);

#endif
