/*
 * A warm pool: sandboxes built ahead, without anything that a request brings
 * along, and given to the first request that asks for nothing else. Until
 * then nobody sees them. They end with the daemon; one that was killed leaves
 * them to the next, which ends them.
 */
#ifndef SANDBOX_HOST_DAEMON_POOL_H
#define SANDBOX_HOST_DAEMON_POOL_H

#include "sandbox-host/daemon/daemon.h"

/* End what another daemon built, or what would be built from something else by
 * now, and build what is missing. */
void pool_fill(struct daemon *daemon);
/* Others take the place of all that nobody has yet: the configuration is
 * another one. */
void pool_begin_anew(struct daemon *daemon);
/* Answer a request to create with one that is as it wants it. False: there is
 * none, and the ticket is the caller's. request_fd stays the caller's. */
bool pool_take(struct daemon *daemon, struct rpc_ticket ticket, int request_fd,
	       const struct sandbox_request *request,
	       const struct spawn_for *asker);
/* The state of one has changed. */
void pool_follow(struct entry *entry);
/* Nobody will ask for them any more. */
void pool_close(struct daemon *daemon);

#endif
