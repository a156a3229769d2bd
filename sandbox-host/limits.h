/*
 * How much a sandbox may use: by a cgroup where this process may make one
 * (v1 or v2), by rlimits otherwise, which count the same things per user
 * namespace (processes) or per process (memory).
 */
#ifndef SANDBOX_HOST_LIMITS_H
#define SANDBOX_HOST_LIMITS_H

#include <limits.h>
#include <sys/types.h>

#include "sandbox-host/report.h"

#define LIMITS_GROUPS_MAX 2

struct limits {
	struct sandbox_limits wanted;
	char groups[LIMITS_GROUPS_MAX][PATH_MAX]; /* cgroup directories */
	unsigned group_count;
	bool has_memory, has_processes; /* a cgroup holds it */
};

/* Make the cgroups that can be made. */
void limits_prepare(struct limits *limits, const struct sandbox_limits *wanted);
/* Put a process into them. 0, or -1. */
int limits_enter(const struct limits *limits, pid_t pid, struct err *err);
/* In the command's process: what no cgroup holds, and no core dumps (a
 * host's core handler would run on them as root). 0, or -1. */
int limits_apply(const struct limits *limits, struct err *err);
/* Say which limits were reached. */
void limits_report(const struct limits *limits, struct report *report);
/* Remove the cgroups of a caller that was killed (sandbox_sweep()). */
void limits_sweep(pid_t dead);
/* Remove the cgroups; nothing may run in them. */
void limits_release(struct limits *limits);

#endif
