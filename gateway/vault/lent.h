/*
 * Values that are lent to one session: put and removed by control, given to
 * that session alone, removed when it ends.
 */
#ifndef GATEWAY_VAULT_LENT_H
#define GATEWAY_VAULT_LENT_H

#include "gateway/vault/vault.h"

/* rpc_answer_fn of MSG_LENT_PUT and MSG_LENT_REMOVE. */
void lent_answer_put(struct rpc_ticket ticket, const void *message, int *fd,
		     void *owner);
void lent_answer_remove(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner);
/* The session ends, and what was lent to it. */
void lent_session_end(struct vault *vault, const struct session *session);
/* Remove what was lent to sessions that are not there. */
void lent_sweep(struct vault *vault);

#endif
