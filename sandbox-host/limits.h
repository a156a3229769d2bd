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

#define LIMITS_GROUPS_MAX 3

struct limits {
	struct sandbox_limits wanted;
	char groups[LIMITS_GROUPS_MAX][PATH_MAX]; /* cgroup directories */
	unsigned group_count;
	bool has_memory, has_processes; /* a cgroup holds it */
	const char *freezer;		/* the group that can rest; or NULL */
	bool is_freezer_v1;
};

/* Make the cgroups that can be made; rests: one that can be frozen, too.
 * limits stays where it is from here on. */
void limits_prepare(struct limits *limits, const struct sandbox_limits *wanted,
		    bool rests);
/* Freeze all processes of it, or let them go on. What is frozen by version 1
 * does not even die. 0, or -1. */
bool limits_can_rest(const struct limits *limits);
int limits_rest(const struct limits *limits, bool rests, struct err *err);
/* Are all of them frozen? */
bool limits_rests(const struct limits *limits);
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
