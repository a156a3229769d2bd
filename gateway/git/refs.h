/*
 * What upstream's refs are now: ref -> oid, as learned from its
 * advertisement by gateway/git/advertise. Only refs that the session may
 * write are kept, at most GIT_REFS_MAX; `is_partial` says that some were
 * not, and then an absent name means nothing. Of its branches and tags, whose
 * ever they are, the oids are kept where paths are protected: the first
 * GIT_REFS_MAX.
 */
#ifndef GATEWAY_GIT_REFS_H
#define GATEWAY_GIT_REFS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/bytes.h"
#include "policies/policy.h"

#define GIT_REFS_MAX	   20000
#define GIT_REFS_BYTES_MAX (12 * 1024 * 1024)

struct git_ref {
	struct bytes name; /* in the map's arena */
	struct bytes oid;  /* lower-case hex */
};

struct git_refs {
	struct arena arena;
	struct git_ref *items;
	size_t count, size;
	struct bytes *tips; /* sorted, each once; in the arena */
	size_t tip_count, tip_size;
	size_t advertised;  /* ref lines seen in all, hidden ones included */
	size_t oid_hex_len; /* 40 or 64, from upstream; 0: nothing seen yet */
	bool is_partial;
	bool is_whole; /* the advertisement was read to its end and is sound */
};

void git_refs_init(struct git_refs *refs);
void git_refs_release(struct git_refs *refs);

/* Remember name -> oid (copied). A full map only sets is_partial. */
void git_refs_add(struct git_refs *refs, struct bytes name, struct bytes oid);
/* Remember the oid (copied) of a branch or tag; more than fit are left out. */
void git_refs_add_tip(struct git_refs *refs, struct bytes oid);
/* Is it one of them? Nothing is before they are sealed. */
bool git_refs_is_tip(const struct git_refs *refs, struct bytes oid);
/* All were added: sort them and set is_whole. 0, or -1 when a name stands
 * there twice (upstream is broken). */
int git_refs_seal(struct git_refs *refs);
/* The ref of that name, or NULL; nothing is found before it is sealed.
 * Valid until release. */
const struct git_ref *git_refs_find(const struct git_refs *refs,
				    struct bytes name);

/* Is there any verb that the session may use on this ref? */
bool git_ref_may_write(const struct policy_repo *repo, struct bytes ref);

/* Is it `len` lower-case hex digits? len 0: either 40 or 64. */
bool git_oid_is_valid(struct bytes oid, size_t len);
/* Only '0' digits? */
bool git_oid_is_zero(struct bytes oid);

#endif
