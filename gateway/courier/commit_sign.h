/*
 * Commits and tags of an edge's own session, signed by the vault.
 */
#ifndef GATEWAY_COURIER_COMMIT_SIGN_H
#define GATEWAY_COURIER_COMMIT_SIGN_H

#include "gateway/courier/courier.h"

/* MSG_SIGN of an edge; so many a second. */
#define SIGNED_PER_SECOND 100
void courier_answer_sign(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner);

#endif
