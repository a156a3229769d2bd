/*
 * Capabilities: none in any set, not to be had again by any exec.
 */
#ifndef SANDBOX_HOST_CAPABILITIES_H
#define SANDBOX_HOST_CAPABILITIES_H

#include "common/err.h"

/* Empty all sets, the bounding and the ambient one too, lock the root
 * user's special treatment off, set no_new_privs. Irreversible. 0, or -1. */
int capabilities_drop(struct err *err);

#endif
