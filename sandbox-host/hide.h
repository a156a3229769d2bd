/*
 * Hiding, in process 1: a mount over a thing, and a second look. Between the
 * plan and its mounts another sandbox of the same workspace may have moved what
 * a pattern hides by its name alone, with a directory above it. A mount moves
 * with what it is over: what the second look finds, and hides, stays hidden.
 */
#ifndef SANDBOX_HOST_HIDE_H
#define SANDBOX_HOST_HIDE_H

#include "sandbox-host/plan.h"

/* Cover what target (O_PATH) is; path is its name. 0, or -1. */
int hide_mount(int target, const char *path, struct err *err);
/* When all mounts are made: hide what patterns and ignore files hide and no
 * mount covers yet, until there is nothing, and nothing went away meanwhile. 0,
 * or -1, also when that does not end. */
int hide_again(const struct plan *plan, struct err *err);

#endif
