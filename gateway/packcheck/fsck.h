/*
 * What git's own fsck finds wrong with an object (git-fsck(1)), as far as it
 * can hurt who checks it out: names that are ".git" somewhere, trees out of
 * order, odd modes, ids of nothing, .gitmodules that run commands; and what
 * makes a commit or a tag unreadable. Stricter than git where git only warns.
 */
#ifndef GATEWAY_PACKCHECK_FSCK_H
#define GATEWAY_PACKCHECK_FSCK_H

#include "gateway/packcheck/finding.h"
#include "gateway/packcheck/store.h"

/* Of a .gitmodules that is read at all. */
#define FSCK_MODULES_MAX (256 * 1024)

/* Look at a tree, commit or tag (untrusted): push_object_unsound in finding.
 * Blobs that a tree calls .gitmodules are read where the store has them. */
void fsck_object(struct pack_store *store, git_object_t type,
		 const git_oid *oid, struct bytes content,
		 struct finding *finding);

/* Why it is no sound object of that type; NULL: it is one. The texts are
 * static. */
const char *fsck_commit(struct bytes content);
const char *fsck_tag(struct bytes content);
/* What is wrong with the name of a tree's entry; NULL: nothing. Names that
 * HFS+ or NTFS take for ".git" are wrong everywhere. */
const char *fsck_name(struct bytes name);
/* Is it .gitmodules, on any file system? */
bool fsck_is_modules(struct bytes name);
/* What is wrong with a .gitmodules: it would run a command, give a program
 * an option, or leave its place. Writes a file into the current directory
 * for as long as it takes. */
const char *fsck_modules(struct bytes content);

#endif
