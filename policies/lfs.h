/*
 * Git LFS (its API's documents in docs/api of git-lfs): the endpoints beside
 * a repository's own, and who may use them. They are decided by `git` alone,
 * as git's are.
 *
 *	<repository>[.git]/info/lfs/objects/batch
 *	<repository>[.git]/info/lfs/locks[/verify, /ID/unlock]
 *	<repository>[.git]/info/lfs/transfers/ID	the gateway's own: what
 *a batch's answer opened (gateway/edge/lfs_lane.h)
 */
#ifndef POLICIES_LFS_H
#define POLICIES_LFS_H

#include "policies/decide.h"

#define LFS_TRANSFER_ID_LEN 26

enum lfs_endpoint {
	LFS_NONE, /* not one */
	LFS_BATCH,
	LFS_LOCKS, /* list */
	LFS_LOCK,  /* create */
	LFS_LOCKS_VERIFY,
	LFS_UNLOCK,
	LFS_TRANSFER,
	LFS_OTHER, /* below info/lfs, and none of these */
	LFS_ENDPOINT_MAX
};

/* A path at info/lfs or below it. Views borrow. */
struct lfs_path {
	struct bytes base; /* the repository, as the client spells it */
	struct bytes rest; /* behind ".../info/lfs/" */
	bool is_exact;	   /* spelled as git-lfs does */
	bool is_gitlab;	   /* where GitLab keeps its objects */
};

/* Is the normalised path one, for git-lfs or for a lenient server? Also
 * GitLab's ".../gitlab-lfs/...", which is never exact. */
bool lfs_path_split(struct bytes path, struct lfs_path *out);
/* Which endpoint is it? out->base is valid unless LFS_NONE. */
enum lfs_endpoint lfs_endpoint_of(const struct request_facts *facts,
				  struct lfs_path *out);
/* The id of LFS_TRANSFER's and LFS_UNLOCK's path. */
struct bytes lfs_id_of(const struct lfs_path *path);

/* May the session bring objects to, or lock files of, the ref (untrusted,
 * its full name) in this repository: may it push it somehow? */
struct verdict decide_lfs_ref(const struct policy_repo *repo, struct bytes ref);
/* May it at all, for some ref? */
bool decide_lfs_writes(const struct policy_repo *repo);
/* May objects be stored there? */
bool decide_lfs_storage(const struct policy_repo *repo,
			const struct target_facts *target);

#endif
