/*
 * The commits that a push brings to a ref: those of the pushed pack that its
 * new tip leads to.
 */
#ifndef GATEWAY_PACKCHECK_COMMITS_H
#define GATEWAY_PACKCHECK_COMMITS_H

#include "gateway/packcheck/oid_queue.h"
#include "gateway/packcheck/store.h"

#define COMMITS_MAX	 1000000
#define COMMITS_TAGS_MAX 16 /* a tag of a tag of a tag... */

/* The commit at oid, or that the tag there is of. PACK_COMMIT: *commit is
 * set; PACK_ABSENT: *at is what is not there. */
enum pack_lookup commits_peel(struct pack_store *store, const git_oid *oid,
			      git_commit **commit, git_oid *at);

enum commits_result {
	COMMITS_LISTED,
	COMMITS_NONE,	    /* it brings none */
	COMMITS_ABSENT,	    /* the tip is in no pack so far: commits->tip */
	COMMITS_UNREADABLE, /* what may be a commit, or lead to one */
	COMMITS_TOO_MANY
};

struct commits {
	git_oid *oids;
	size_t count, room;
	git_oid tip;
	/* Of the pushed pack, and upstream's all the same: they do not count,
	 * nor what they alone lead to. NULL: none is known. */
	const struct oid_queue *known;
};

/* List them, the tip first. with_tip: it counts also when it is not in the
 * pushed pack, or known. commits is zeroed before, but for known. */
enum commits_result commits_list(struct commits *commits,
				 struct pack_store *store, const git_oid *tip,
				 bool with_tip);
void commits_release(struct commits *commits);

/* Add to *begins what a tip builds on that is not in the pushed pack: the
 * parents of its commits there that count, or its own commit. 0, or -1: they
 * are more than max, or a commit cannot be read. */
int commits_begins(struct pack_store *store, const git_oid *tip,
		   const struct oid_queue *known, struct oid_queue *begins,
		   size_t max);
/* Has the pushed pack no commits but these, which are in it? */
bool commits_are_all(struct pack_store *store, const struct oid_queue *these);

#endif
