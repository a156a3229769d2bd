/*
 * A sandbox that was built before anybody asked for it (pool.h, ready.h), and
 * the one who gets it: its supervisor makes it theirs, or refuses, since the
 * gateway's terms are others by now. Then another is built as ever.
 */
#ifndef SANDBOX_HOST_DAEMON_CLAIM_H
#define SANDBOX_HOST_DAEMON_CLAIM_H

#include "sandbox-host/daemon/daemon.h"

/* Let it be the asker's, and answer with it, or with another. False: it can
 * not be theirs, and ends; the ticket is the caller's. request_fd stays the
 * caller's. */
bool claim_begin(struct entry *entry, struct rpc_ticket ticket, int request_fd,
		 const struct spawn_for *asker);
/* The state of one has changed. */
void claim_follow(struct entry *entry);
/* Nobody gets it any more. */
void claim_end(struct entry *entry);
/* Who waits is refused: the daemon ends. */
void claim_close_all(struct daemon *daemon);

#endif
