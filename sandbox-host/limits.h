/*
 * How much a sandbox may use: by a cgroup where this process may make one
 * (v1 or v2), by rlimits otherwise, which count the same things per user
 * namespace (processes) or per process (memory). Cores have no rlimit. Open
 * files are each process's own; disk is the size of a file here, and that of
 * the private file systems in steps.c.
 */
#ifndef SANDBOX_HOST_LIMITS_H
#define SANDBOX_HOST_LIMITS_H

#include <limits.h>
#include <sys/types.h>

#include "common/cgroup.h"
#include "sandbox-host/report.h"

#define LIMITS_GROUPS_MAX 4

struct limits {
	struct sandbox_limits wanted;
	char groups[LIMITS_GROUPS_MAX][PATH_MAX]; /* cgroup directories */
	unsigned group_count; /* process 1 knows no more of them */
	bool has_memory, has_processes, has_cpu; /* a cgroup holds it */
	uint64_t ended, refused; /* told already: processes, new ones */
	const char *freezer;	 /* the group that can rest; or NULL */
	bool is_v1;
};

/* How large a private tmpfs may be: the smaller of both, since what is in it is
 * memory, too. 0: the kernel's default. */
uint64_t limits_tmpfs(const struct sandbox_limits *wanted);
/* Make the cgroups that can be made on host (&cgroup_host); rests: one that
 * can be frozen, too. limits stays where it is from here on. */
void limits_prepare(struct limits *limits, const struct cgroup_host *host,
		    const struct sandbox_limits *wanted, bool rests);
/* Say what nothing on this host can hold. */
void limits_say_open(const struct limits *limits, struct report *report);
/* Freeze all processes of it, or let them go on. What is frozen by version 1
 * does not even die. 0, or -1. */
bool limits_can_rest(const struct limits *limits);
int limits_rest(const struct limits *limits, bool rests, struct err *err);
/* Are all of them frozen? */
bool limits_rests(const struct limits *limits);
/* Put a process into them, by its maker and then by itself, before anything
 * of others runs in it: version 2's is the maker's part, version 1's its own
 * (cgroup_enter()), by what the maker opened for it: *count of fds then, which
 * are the caller's. 0, or -1. */
int limits_enter(const struct limits *limits, pid_t pid, struct err *err);
int limits_open(const struct limits *limits, int fds[LIMITS_GROUPS_MAX],
		size_t *count, struct err *err);
int limits_enter_self(const int *fds, size_t count, struct err *err);
/* So many it opens. */
size_t limits_opened(const struct limits *limits);
/* In the command's process: what no cgroup holds, and no core dumps (a
 * host's core handler would run on them as root). 0, or -1. */
int limits_apply(const struct limits *limits, struct err *err);
/* Say which limits were reached since this was called last. */
void limits_report(struct limits *limits, struct report *report);
/* The same, of a command with that wait status: what ended it. */
void limits_report_end(struct limits *limits, int status,
		       struct report *report);
/* Remove the cgroups of a caller that was killed (sandbox_sweep()). */
void limits_sweep(pid_t dead);
/* Remove the cgroups; nothing may run in them. */
void limits_release(struct limits *limits);

#endif
