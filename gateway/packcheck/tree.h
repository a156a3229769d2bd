/*
 * The entries of a tree object, as its bytes say (untrusted): each is
 * "<mode> <name>" NUL and 20 bytes of an object id. Strict: what git's own
 * trees never have is an error.
 */
#ifndef GATEWAY_PACKCHECK_TREE_H
#define GATEWAY_PACKCHECK_TREE_H

#include <git2.h>
#include <stdbool.h>

#include "common/bytes.h"

#define TREE_NAME_MAX  4096
#define TREE_ALIKE_MAX 64

struct tree_entry {
	uint32_t mode;
	struct bytes name; /* not empty, no '/' and no NUL in it */
	git_oid oid;
};

struct tree_reader {
	struct bytes rest;
	struct tree_entry last; /* the one before; mode 0: none */
	/* Files of which each name begins the next one's: a tree of the same
	 * name may still come. */
	struct bytes files[TREE_ALIKE_MAX];
	size_t file_count;
	const char *fault; /* why it is none: static */
};

void tree_begin(struct tree_reader *reader, struct bytes tree);
/* 1: entry is the next one; 0: there are no more; -1: this is no sound tree
 * (reader->fault). Names borrow from the tree. */
int tree_next(struct tree_reader *reader, struct tree_entry *entry);

bool tree_entry_is_tree(const struct tree_entry *entry);
/* A symbolic link, or another repository's commit. */
bool tree_entry_is_link(const struct tree_entry *entry);
/* How git orders entries: a tree's name as if it ended with '/'. Below 0: a
 * comes first; 0: same name, and both are trees or neither is. */
int tree_entry_compare(const struct tree_entry *a, const struct tree_entry *b);

#endif
