/*
 * What differs between two policies, as their authors wrote them: the trees
 * of the texts are compared, so that every key counts, also one that is new.
 * Rules, credentials and repositories are the same when they are called the
 * same; hosts, paths and other plain lists are compared as sets.
 *
 *	struct policy_diff diff;
 *	policy_diff(before, after, &arena, &diff, &err);
 *	// changed  limits.memory: 1GiB -> 2GiB
 *	// added    network.rules[npm].hosts: registry.npmjs.org
 */
#ifndef POLICIES_DIFF_H
#define POLICIES_DIFF_H

#include "policies/text.h"

#define POLICY_CHANGES_MAX    100000
#define POLICY_DIFF_VALUE_MAX 4096 /* a longer value is cut, "..." */

enum policy_change_kind {
	CHANGE_ADDED,	/* .after */
	CHANGE_REMOVED, /* .before */
	CHANGE_CHANGED, /* both */
	CHANGE_MOVED,	/* the order of a list in which order counts */
	CHANGE_MAX
};

struct policy_change {
	enum policy_change_kind kind;
	struct bytes where; /* "network.rules[npm].hosts" */
	struct bytes before, after;
	struct policy_change *next;
};

struct policy_diff {
	struct policy_change *first; /* NULL: they say the same */
	size_t count;
};

/* "added", "removed", "changed", "moved". */
const char *policy_change_name(enum policy_change_kind kind);

/* Compare two texts that compile. Everything lives in arena. 0, or -1: one
 * of them is no such text, or there is no memory. */
int policy_diff(struct bytes before, struct bytes after, struct arena *arena,
		struct policy_diff *out, struct err *err);

#endif
