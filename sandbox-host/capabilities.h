/*
 * Capabilities: none in any set, not to be had again by any exec.
 */
#ifndef SANDBOX_HOST_CAPABILITIES_H
#define SANDBOX_HOST_CAPABILITIES_H

#include "common/err.h"

/* Empty the bounding set, if that is still to be done: a call for each of its
 * capabilities, which whoever waits for a sandbox can have made. Needs
 * CAP_SETPCAP. Irreversible, but a new user namespace has a full one. 0, or -1.
 */
int capabilities_drop_bounds(struct err *err);
/* Empty all sets, the bounding and the ambient one too, lock the root
 * user's special treatment off, set no_new_privs. Irreversible. 0, or -1. */
int capabilities_drop(struct err *err);

#endif
