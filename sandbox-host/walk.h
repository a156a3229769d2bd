/*
 * Walk a directory tree by name, without following a symbolic link, within
 * bounds. The tree may be hostile (another session's workspace).
 */
#ifndef SANDBOX_HOST_WALK_H
#define SANDBOX_HOST_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

#define WALK_DEPTH_MAX 64

struct walk_entry {
	const char *path; /* absolute; valid during the call */
	const char *name; /* its last component */
	bool is_directory;
};

enum walk_answer { WALK_SKIP, WALK_INTO, WALK_FAIL };

struct walk {
	size_t entries_max; /* how many entries may be looked at */
	unsigned depth_max; /* directories deeper than this are not read */
	enum walk_answer (*on_entry)(void *owner,
				     const struct walk_entry *entry,
				     struct err *err);
	/* A directory that may not be read or searched. 0, or -1 to end. NULL:
	 * such are passed by. */
	int (*on_closed)(void *owner, const char *path, struct err *err);
	/* A directory that went before it was read; or NULL. */
	void (*on_gone)(void *owner, const char *path);
	void *owner;
	bool is_cut; /* set: one of the bounds ended the walk */
};

/* Visit everything below base, which may be closed itself. 0, or -1. */
int walk_tree(struct walk *walk, const char *base, struct err *err);

#endif
