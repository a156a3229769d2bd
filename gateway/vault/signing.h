/*
 * Signing for sessions (git[].push.sign): the key that is made for a session
 * or the one in the vault that its policy names, and the digests of git
 * objects that its edge has read. The scope says who may, and with which.
 *
 * A session's own key is in memory alone: it ends with the session, and with
 * this process, which makes another when it begins again. Each is on record.
 */
#ifndef GATEWAY_VAULT_SIGNING_H
#define GATEWAY_VAULT_SIGNING_H

#include "gateway/session/session.h"
#include "gateway/vault/vault.h"

/* A session came, or was renewed: make its key if it is to have one. */
void signing_open(struct vault *vault, struct session *session);
/* It has ended: so has its key. */
void signing_close(struct session *session);
/* All sessions are over; there may have been none, and no keeper. */
void signing_release(struct vault *vault);

/* May value stand under that name, as far as live sessions sign with it? 0,
 * or -1 with *err. */
int signing_check(const struct vault *vault, struct bytes name,
		  struct bytes value, struct err *err);

/* MSG_SIGN_MAKE of the courier, MSG_SIGNER_GET of control. */
void signing_answer_make(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner);
void signing_answer_signer(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner);

#endif
