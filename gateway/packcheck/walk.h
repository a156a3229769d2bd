/*
 * Is one commit an ancestor of another, as far as the commits of a store
 * say? Breadth first over parents, at most WALK_COMMITS_MAX commits.
 */
#ifndef GATEWAY_PACKCHECK_WALK_H
#define GATEWAY_PACKCHECK_WALK_H

#include "gateway/packcheck/store.h"

#define WALK_COMMITS_MAX  1000000
#define WALK_FRONTIER_MAX 256

enum walk_result {
	WALK_REACHED,	/* it is: through commits that are all here */
	WALK_FRONTIER,	/* not found; some commits are not here: frontier */
	WALK_EXHAUSTED, /* it is not: every commit up to the roots is here */
	WALK_TOO_LONG,
	WALK_NO_COMMIT /* something on the way is no commit */
};

struct walk {
	git_oid frontier[WALK_FRONTIER_MAX]; /* commits that are not here */
	size_t frontier_count;
};

enum walk_result walk_to(struct walk *walk, struct pack_store *store,
			 const git_oid *from, const git_oid *ancestor);

#endif
