/*
 * What git-lfs asks (docs/api/batch.md, locking.md of git-lfs), taken apart
 * strictly and written anew: nothing of the client's text goes on. A key
 * that is unknown or stands there twice is refused, as are ids that are no
 * SHA-256 in lower case.
 */
#ifndef GATEWAY_LFS_REQUEST_H
#define GATEWAY_LFS_REQUEST_H

#include "common/arena.h"
#include "common/buf.h"
#include "policies/lfs.h"

#define LFS_TYPE	      "application/vnd.git-lfs+json"
#define LFS_REQUEST_BYTES_MAX (128 * 1024)
#define LFS_OBJECTS_MAX	      256 /* of one batch; git-lfs asks for 100 */
#define LFS_OID_LEN	      64
#define LFS_SIZE_MAX	      ((uint64_t)1 << 40) /* of one object */
#define LFS_TOTAL_MAX	      ((uint64_t)1 << 42) /* of one batch */
#define LFS_LOCK_PATH_MAX     4096
#define LFS_CURSOR_MAX	      512
#define LFS_LIMIT_MAX	      1000

/* Why a request is refused; text is one sentence. */
struct lfs_fault {
	enum constraint constraint;
	struct err err;
};

struct lfs_object {
	char oid[LFS_OID_LEN + 1];
	uint64_t size;
};

enum lfs_operation { LFS_DOWNLOAD, LFS_UPLOAD };

struct lfs_batch {
	enum lfs_operation operation;
	/* As sent, maybe no ref's name: then it does not go on. Empty: none
	 * was given. */
	struct bytes ref;
	const struct lfs_object *objects;
	size_t count;
	uint64_t total;
};

/* What locks/verify, locks and locks/ID/unlock say; empty or 0: not. */
struct lfs_lock {
	struct bytes path;
	struct bytes ref;
	struct bytes cursor;
	uint64_t limit;
	bool force;
};

/* Parse a batch (untrusted). Everything lives in arena. 0, or -1 with
 * *fault. */
int lfs_batch_parse(struct bytes body, struct arena *arena,
		    struct lfs_batch *batch, struct lfs_fault *fault);
/* Append it as it goes on: transfer "basic", hash "sha256". 0/-1. */
int lfs_batch_write(const struct lfs_batch *batch, struct buf *out);

/* The same for the body of LFS_LOCK, LFS_LOCKS_VERIFY or LFS_UNLOCK. */
int lfs_lock_parse(enum lfs_endpoint endpoint, struct bytes body,
		   struct arena *arena, struct lfs_lock *lock,
		   struct lfs_fault *fault);
int lfs_lock_write(enum lfs_endpoint endpoint, const struct lfs_lock *lock,
		   struct buf *out);
/* May the query of LFS_LOCKS go on: path, id, cursor, limit, refspec, each
 * once at most? */
bool lfs_locks_query_is_sound(struct bytes query);

/* The same for what is sent to a verify action. */
int lfs_verify_parse(struct bytes body, struct lfs_object *object,
		     struct lfs_fault *fault);
int lfs_verify_write(const struct lfs_object *object, struct buf *out);

#endif
