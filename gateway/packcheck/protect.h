/*
 * Protected paths: does a commit that is new change one? An update's commits
 * are each compared with the tree of its old tip; those of a new branch with
 * their parents', so that what they begin from is what upstream has. A path
 * is changed when an entry appears, vanishes, or has another object or mode.
 */
#ifndef GATEWAY_PACKCHECK_PROTECT_H
#define GATEWAY_PACKCHECK_PROTECT_H

#include "gateway/packcheck/finding.h"
#include "gateway/packcheck/store.h"

#define PROTECT_PATTERNS_MAX 128
#define PROTECT_LACKING_MAX  256
/* Of one check: entries that are compared, commits, levels of a tree. */
#define PROTECT_ENTRIES_MAX 20000000
#define PROTECT_COMMITS_MAX 1000000
#define PROTECT_DEPTH_MAX   128

/* Is the path one that a glob (path.h) names, letters' case aside, or below
 * one? A glob that begins with two stars and a slash also names what is at
 * the top. */
bool protect_names(struct bytes glob, struct bytes path);
/* May the glob name something below the directory? */
bool protect_may_hold(struct bytes glob, struct bytes directory);
/* Does the path lead, by directories the glob spells out, to what it names?
 * A link there would put something else in their place. */
bool protect_leads(struct bytes glob, struct bytes path);

struct oid_queue;

struct protect {
	struct bytes globs[PROTECT_PATTERNS_MAX]; /* borrowed */
	size_t glob_count;
	/* Objects that are in no pack so far. */
	git_oid commits[PROTECT_LACKING_MAX], trees[PROTECT_LACKING_MAX];
	size_t commit_count, tree_count;
	uint64_t entries;
	const struct oid_queue *known; /* as in commits.h */
	/* Of those that were found: the newest. finding is of the oldest. */
	git_oid oldest, newest;
	struct finding newest_finding;
	struct finding *finding;
	struct err *err;
};

enum protect_result {
	PROTECT_PASSED,
	PROTECT_FOUND,	 /* finding says what */
	PROTECT_LACKING, /* protect->commits or trees are to be had first */
	PROTECT_FAILED	 /* err says why */
};

/* Compare an update's commits; old_tip is all zero for a new ref. finding
 * and err are set before. */
enum protect_result protect_update(struct protect *protect,
				   struct pack_store *store,
				   const git_oid *old_tip,
				   const git_oid *new_tip);

#endif
