/*
 * The cgroup of all packchecks of this gateway, where the host lets it make
 * one: what they may hold together. Each has its rlimits besides
 * (packcheck/main.c), and those alone elsewhere.
 */
#ifndef GATEWAY_WARDEN_GROUP_H
#define GATEWAY_WARDEN_GROUP_H

#include <limits.h>

/* As many run at one time as fit, each with the heap it may have
 * (packcheck/main.c). */
#define PACKCHECKS_MAX 4
/* One more waits for work, and a sanitizer ends each with a process of its
 * own. */
#define GROUP_PIDS_MAX	 (2 * (PACKCHECKS_MAX + 1))
#define GROUP_MEMORY_MAX (PACKCHECKS_MAX * 1024ull * 1024 * 1024)

struct group {
	char paths[2][PATH_MAX]; /* one of v2, or v1's memory and pids */
	unsigned count;		 /* 0: there is none */
};

/* Make it, and remove those that dead gateways left. */
void group_make(struct group *group);
/* Put the calling process into it, as far as it is there. */
void group_enter(const struct group *group);
/* Remove it, once nothing runs in it. */
void group_remove(struct group *group);

#endif
