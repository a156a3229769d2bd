/*
 * Whether a file of the host's can be read in a sandbox that runs: a file that
 * was told to be hidden after its mounts were made. By its plan, and by what
 * the host's file system says of the file now.
 */
#ifndef SANDBOX_HOST_SHOWN_H
#define SANDBOX_HOST_SHOWN_H

#include "sandbox-host/sandbox.h"

struct plan;

/* Could a command read the file, or one that may yet come to be at that name?
 * path is absolute, its directory real. When in doubt, it could. */
bool sandbox_shows(const struct sandbox *sandbox, const char *path);
/* The same, by the plan alone that it was made from. */
bool plan_shows(const struct plan *plan, const char *path);

#endif
