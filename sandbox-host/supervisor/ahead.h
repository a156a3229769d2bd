/*
 * A sandbox that is built before anybody asks for it, and the one who takes
 * it.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_AHEAD_H
#define SANDBOX_HOST_SUPERVISOR_AHEAD_H

#include "sandbox-host/supervisor/parts.h"

/* Is the policy one that can wait: nothing that it says of files depends on
 * what the host's are at that moment? That of a pool's is. 0, or -1. */
int ahead_check(struct supervisor *supervisor, struct err *err);
/* attachment.on_terms: sessions begin under something else by now. */
void ahead_on_terms(void *owner);
/* MSG_SUPERVISOR_TAKE */
void ahead_answer(struct rpc_ticket ticket, const void *message, int *fd,
		  void *owner);

/* bounds.c: does the policy bring in nothing of the host's files, whoever it
 * comes from? */
bool bounds_are_kept(struct supervisor *supervisor);
/* life.c: begin again for whoever takes it: its ends count from now. */
void life_begin_anew(struct supervisor *supervisor, uint64_t expires_ms);

#endif
