/*
 * A warm pool: sandboxes built ahead, without anything that a request brings
 * along, and given to the first request that asks for nothing else. Until
 * then nobody sees them. They end with the daemon; one that was killed leaves
 * them to the next, which ends them.
 */
#ifndef SANDBOX_HOST_DAEMON_POOL_H
#define SANDBOX_HOST_DAEMON_POOL_H

#include "sandbox-host/daemon/daemon.h"

/* End what another daemon built, and build what is missing. */
void pool_fill(struct daemon *daemon);
/* Others take the place of all that nobody has yet: the configuration is
 * another one. */
void pool_begin_anew(struct daemon *daemon);
/* One that is as request wants it, now its owner's; NULL: there is none. */
struct entry *pool_take(struct daemon *daemon,
			const struct sandbox_request *request, uid_t owner);
/* Nobody will ask for them any more. */
void pool_close(struct daemon *daemon);

#endif
