/*
 * Where this process may make cgroups (cgroups(7)): beside its own, of v2,
 * or below its own of v1's controllers.
 */
#ifndef COMMON_CGROUP_H
#define COMMON_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

enum cgroup_tree {
	CGROUP_V2,
	CGROUP_V1_MEMORY,
	CGROUP_V1_PIDS,
	CGROUP_V1_FREEZER,
	CGROUP_TREES
};

/* The directory for them. False: there is no such place. */
bool cgroup_place(enum cgroup_tree tree, char out[PATH_MAX]);
/* Write a number, or text, into a group's file. 0, or -1 with errno. */
int cgroup_write(const char *group, const char *file, uint64_t value);
int cgroup_write_text(const char *group, const char *file, const char *text);

#endif
