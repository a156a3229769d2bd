/*
 * Who the command is, outside and inside. An ordinary caller's command has
 * the caller's ids. A root caller's has a host uid and gid of its own per
 * session, from IDENTITY_FIRST up, so that nothing of the host belongs to
 * it; inside it looks like the owner of the workspace.
 */
#ifndef SANDBOX_HOST_IDENTITY_H
#define SANDBOX_HOST_IDENTITY_H

#include <sys/stat.h>

#include "sandbox-host/plan.h"

#define IDENTITY_FIRST 2000000
#define IDENTITY_COUNT 65536
#define IDENTITY_LOCKS "/run/sallyport/uids.lock" /* byte n: user n */

struct identity {
	uid_t host_uid;
	gid_t host_gid;
	/* While it is held, by us or by process 1, nobody else has host_uid;
	 * or -1. */
	int lock;
};

/* Decide by the calling process and the workspace's owner. */
void identity_choose(struct plan_identity *identity,
		     const struct stat *workspace);
/* Take the host ids: the caller's own, or free ones of a range (count 0:
 * IDENTITY_FIRST and IDENTITY_COUNT). 0, or -1. */
int identity_take(struct identity *identity, const struct plan_identity *inside,
		  struct sandbox_uids range, struct err *err);
void identity_give_back(struct identity *identity);
/* Write the maps of pid's user namespace. 0, or -1. */
int identity_map(const struct identity *identity,
		 const struct plan_identity *inside, pid_t pid,
		 struct err *err);
/* pid's user namespace, or -1. */
int identity_open_namespace(pid_t pid, struct err *err);
/* A user namespace in which the owner of something is the session's host
 * user: for an id-mapped mount. -1. */
int identity_namespace(const struct identity *identity,
		       const struct stat *owner, struct err *err);
/* In init: what it makes belongs to the mapped ids, which it does not become
 * yet: version 1's groups are entered first. 0, or -1. */
int identity_make_as(const struct plan_identity *inside, struct err *err);
/* In init: become the mapped ids, drop supplementary groups where the
 * kernel lets us. 0, or -1. */
int identity_become(const struct plan_identity *inside, struct err *err);

#endif
