/*
 * What may be asked of us beyond answers.c, and what its parts share;
 * channel_owner is a struct asker.
 */
#ifndef SANDBOX_HOST_DAEMON_ANSWERS_H
#define SANDBOX_HOST_DAEMON_ANSWERS_H

#include "sandbox-host/daemon/daemon.h"

rpc_answer_fn answers_metadata;

/* A sandbox that the asker may know of. NULL: the ticket is answered. */
struct entry *answers_find(void *owner, struct bytes id,
			   struct rpc_ticket ticket);

#endif
