/*
 * A glob of a policy's file lists: a directory that is looked through, and
 * what is compared with the rest of each path below it (policies/glob.h; the
 * braces are expanded before).
 */
#ifndef SANDBOX_HOST_PATTERN_H
#define SANDBOX_HOST_PATTERN_H

#include <limits.h>
#include <stdbool.h>

#include "common/err.h"
#include "policies/glob.h"

#define PATTERN_FOUND_MAX 4096 /* paths that one glob may stand for */

struct pattern {
	char base[PATH_MAX]; /* no pattern in it */
	struct glob rest;    /* of what follows the base and a '/' */
	size_t rest_at;	     /* where that begins in its text */
	unsigned depth_max;  /* how deep below base a match can be */
};

/* Does an absolute path with escapes mean more than one name? */
bool pattern_is_glob(const char *path);
/* Take an absolute glob apart. 0, or -1. */
int pattern_parse(struct pattern *pattern, const char *glob, struct err *err);
/* Does an absolute path, which need not exist, match? */
bool pattern_matches(const struct pattern *pattern, const char *path);

/* Does what matches below one directory match below the other, too? */
bool pattern_keeps(const struct pattern *pattern, const char *from,
		   const char *to);

typedef int pattern_on_path(void *owner, const char *path, struct err *err);
/* Call on_path for everything that exists and matches, not below another
 * match, and on_closed for each directory that may not be looked into. Fails
 * when the tree is too large to be sure. */
int pattern_expand(const struct pattern *pattern, pattern_on_path *on_path,
		   pattern_on_path *on_closed, void *owner, struct err *err);

#endif
