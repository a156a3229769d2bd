/*
 * What answers of LFS servers have opened: each permission is one method on
 * one exact URL of one object, with the header fields that the server wants,
 * until it expires; as often as the client tries again. Its id is all that
 * the client knows of it. The edge's; gone with it.
 */
#ifndef GATEWAY_LFS_PERMITS_H
#define GATEWAY_LFS_PERMITS_H

#include <uthash.h>

#include "gateway/lfs/reply.h"

/* The oldest makes room. */
#define PERMITS_MAX	  4096
#define PERMITS_BYTES_MAX (16 * 1024 * 1024)

struct lfs_permit {
	char id[LFS_TRANSFER_ID_LEN + 1];
	enum lfs_action_kind kind;
	struct lfs_object object;
	struct target target;
	struct bytes path;
	struct fields fields;
	const struct policy_repo *repo; /* lives as long as the policy */
	bool with_credential;		/* the session's own, by the courier */
	uint64_t ends_ms;		/* monotonic */
	size_t bytes;			/* of it in all */
	UT_hash_handle hh;
};

/* Zeroed memory is an empty one. */
struct lfs_permits {
	struct lfs_permit *head; /* the oldest first */
	size_t bytes;
};

/* Learn one (copied). NULL when memory is out. */
const struct lfs_permit *permits_add(struct lfs_permits *permits,
				     const struct lfs_action *action,
				     const struct lfs_object *object,
				     const struct policy_repo *repo,
				     bool with_credential, uint64_t now_ms);
/* The one with that id (untrusted) that has not expired, or NULL. Valid
 * until the next permits_add() or _find(). */
const struct lfs_permit *permits_find(struct lfs_permits *permits,
				      struct bytes id, uint64_t now_ms);
void permits_release(struct lfs_permits *permits);
/* "GET", "PUT" or "POST". */
const char *lfs_method_of(enum lfs_action_kind kind);

#endif
