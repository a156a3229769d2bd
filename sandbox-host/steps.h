/*
 * Execute a plan: the steps of init (mounts) and those of the command's own
 * process (what it gives up). Each failure names its step and ends the
 * sandbox.
 */
#ifndef SANDBOX_HOST_STEPS_H
#define SANDBOX_HOST_STEPS_H

#include "sandbox-host/plan.h"
#include "sandbox-host/seccomp.h"

struct steps {
	const struct plan *plan;
	const int *trees; /* what the caller opened, by plan_step.tree */
	size_t tree_count;
	uint64_t tmpfs_max; /* bytes a private tmpfs may hold; 0: default */
	const struct seccomp_program *program;
	int ruleset; /* Landlock's while it is made; -1 */
	size_t done; /* so many of its steps were done before */
};

/* In init: build the root. 0, or -1. */
int steps_build(struct steps *steps, struct err *err);
/* The same of a base (base.h): there is more to come. */
int steps_build_base(struct steps *steps, struct err *err);
/* In the command's process, after setsid(): capabilities, Landlock, and the
 * filter. Returns the notification descriptor; -1. */
int steps_confine(struct steps *steps, struct err *err);

#endif
