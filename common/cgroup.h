/*
 * Where this process may make cgroups (cgroups(7)). Of v2: beside its own,
 * where what is above it was delegated to it, or in its own, if that was;
 * root at the root of the tree otherwise, where systemd's own are too, but
 * none of its units' (systemd.io/CGROUP_DELEGATION). Of v1's controllers:
 * below its own.
 */
#ifndef COMMON_CGROUP_H
#define COMMON_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

enum cgroup_tree {
	CGROUP_V2,
	CGROUP_V1_MEMORY,
	CGROUP_V1_PIDS,
	CGROUP_V1_FREEZER,
	CGROUP_V1_CPU,
	CGROUP_TREES
};

/* Where to look: the mounted trees, and a file as /proc/self/cgroup. */
struct cgroup_host {
	const char *root;
	const char *self;
};
extern const struct cgroup_host cgroup_host;

/* Where v2 delegated the group that this process is alone in, move it to one
 * below, so that others can be made beside it that have controllers. To be
 * called before any child is begun. */
void cgroup_settle(const struct cgroup_host *host);
/* The directory for them. False: there is no such place. */
bool cgroup_place(enum cgroup_tree tree, char out[PATH_MAX]);
/* The same, elsewhere. */
bool cgroup_place_on(const struct cgroup_host *host, enum cgroup_tree tree,
		     char out[PATH_MAX]);
/* Is version 2 what stands at the root? */
bool cgroup_is_v2(const struct cgroup_host *host);
/* Hand controllers ("memory") on to the groups below a place of version 2,
 * as far as they were handed to it. */
void cgroup_delegate(const char *place, const char *const *controllers,
		     size_t count);
/* What tells this process's pid from the same one of another container that
 * makes groups in the same tree: its pid namespace. */
uintmax_t cgroup_pid_namespace(void);
/* Put the calling process, which has one thread, into a group. Of version 1
 * that takes no time; another process is moved only after the kernel has waited
 * for all processors (some 10 ms). 0, or -1 with errno. */
int cgroup_enter(const char *group);
/* The same in two: what is opened here (-1 with errno) is entered by a process
 * that has it and may see no group any more. */
int cgroup_open(const char *group);
int cgroup_enter_open(int group);
/* Write a number, or text, into a group's file. 0, or -1 with errno. */
int cgroup_write(const char *group, const char *file, uint64_t value);
int cgroup_write_text(const char *group, const char *file, const char *text);

#endif
