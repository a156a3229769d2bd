/*
 * One canonical path for a repository, whatever its URL looks like.
 */
#ifndef POLICIES_REPO_PATH_H
#define POLICIES_REPO_PATH_H

#include "common/bytes.h"

/* A normalised path without one trailing '/' and then one trailing ".git"
 * (that is not a whole segment). "/o/r.git/" and "/o/r" give "/o/r"; "/"
 * gives an empty view. Borrows from path. */
struct bytes repo_path_canonical(struct bytes path);

#endif
