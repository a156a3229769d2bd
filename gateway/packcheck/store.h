/*
 * The objects of verified packs, by libgit2: a pack is indexed in the
 * current directory (an empty one of this process alone, ROLE_FD_STATE),
 * its files are unlinked as soon as they are open. libgit2 hashes every
 * object when it indexes and again when one is read, so what is found here
 * under an object id is the object of that id, whatever the pack claimed.
 *
 * The packs are untrusted. Bounds: struct pack_limits, the process's rlimits
 * and its seccomp list.
 */
#ifndef GATEWAY_PACKCHECK_STORE_H
#define GATEWAY_PACKCHECK_STORE_H

#include <git2.h>
#include <git2/sys/odb_backend.h>
#include <stdbool.h>

#include "common/bytes.h"
#include "common/err.h"
#include "gateway/packcheck/scan.h"

struct pack_limits {
	uint64_t objects_max;
	uint64_t bytes_max;
};

struct pack_store {
	git_odb *odb;
	git_repository *repo;	 /* around odb, without files */
	git_oid missing;	 /* the last object that was not found */
	git_oid modules;	 /* a .gitmodules that was not; zero: none */
	git_odb_backend *last;	 /* in odb: the pack added last; NULL: empty */
	git_odb_backend *pushed; /* likewise, the pushed one; set by its user */
	int packs;
};

/* The system calls that libgit2 needs in its directory, beside confine's
 * base set; NULL-ended. */
extern const char *const pack_store_syscalls[];

/* Load the library: reads files, so before confinement. Once a process. */
int pack_library_init(struct err *err);

int pack_store_init(struct pack_store *store, struct err *err);
void pack_store_release(struct pack_store *store);

enum pack_added {
	PACK_ADDED,
	PACK_LACKS_BASE, /* a delta's base is neither in this pack nor in the
			    ones before: store->missing */
	PACK_BROKEN	 /* err says how */
};
/* A pack that is indexed while it still arrives. */
struct pack_adding {
	git_indexer *indexer; /* NULL: none is */
	struct pack_scan *scan;
	git_indexer_progress progress;
	uint64_t fed; /* bytes of it */
	bool is_broken;
};
/* Begin one of unknown length. 0, or -1. */
int pack_store_begin(struct pack_store *store, struct pack_adding *adding,
		     uint64_t objects_max, struct err *err);
/* Take its next bytes. 0, or -1: it is broken, and adding stays so. */
int pack_store_feed(struct pack_adding *adding, struct bytes bytes,
		    struct err *err);
/* Take the rest of the whole pack and make its objects readable; nothing is
 * being added then. */
enum pack_added pack_store_finish(struct pack_store *store,
				  struct pack_adding *adding, struct bytes pack,
				  const struct pack_limits *limits,
				  struct err *err);
void pack_adding_release(struct pack_adding *adding);

/* Index a whole pack (borrowed for the call) and make its objects
 * readable. */
enum pack_added pack_store_add(struct pack_store *store, struct bytes pack,
			       const struct pack_limits *limits,
			       struct err *err);

/* Did it come with the pushed pack? */
bool pack_store_is_pushed(const struct pack_store *store, const git_oid *oid);

enum pack_lookup {
	PACK_COMMIT, /* *commit is set: git_commit_free() it */
	PACK_ABSENT,
	PACK_NO_COMMIT /* the object is there and is no sound commit */
};
enum pack_lookup pack_store_commit(struct pack_store *store, const git_oid *oid,
				   git_commit **commit);

#endif
