/*
 * One canonical identity for a repository, whatever its URL looks like.
 */
#ifndef POLICIES_REPO_PATH_H
#define POLICIES_REPO_PATH_H

#include "common/arena.h"
#include "common/bytes.h"
#include "common/err.h"
#include "policies/policy.h"

/* A normalised path without one trailing '/' and then one trailing ".git"
 * (that is not a whole segment). "/o/r.git/" and "/o/r" give "/o/r"; "/"
 * gives an empty view. Borrows from path. */
struct bytes repo_path_canonical(struct bytes path);

/* Parse https://host[:port]/path of a policy: sets host, port, path and
 * ignores_case of repo, in arena. 0, or -1 with *err. */
int repo_url_parse(struct arena *arena, struct bytes url,
		   struct policy_repo *repo, struct err *err);

#endif
