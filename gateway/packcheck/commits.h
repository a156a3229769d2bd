/*
 * The commits that a push brings to a ref: those of the pushed pack that its
 * new tip leads to.
 */
#ifndef GATEWAY_PACKCHECK_COMMITS_H
#define GATEWAY_PACKCHECK_COMMITS_H

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
};

/* List them, the tip first. with_tip: it counts also when it is not in the
 * pushed pack. commits is zeroed before. */
enum commits_result commits_list(struct commits *commits,
				 struct pack_store *store, const git_oid *tip,
				 bool with_tip);
void commits_release(struct commits *commits);

#endif
