/*
 * Fingerprints of the secrets that a session may have attached: all that an
 * edge ever gets of a secret, to find it in what the session sends.
 */
#ifndef GATEWAY_VAULT_PRINTS_H
#define GATEWAY_VAULT_PRINTS_H

#include "gateway/session/session.h"
#include "gateway/vault/vault.h"

/* Those of every credential of the session's scope whose secret is there,
 * under the credential's name, into out, each part of it by itself
 * (policies/secret_parts.h); then, as far as there is room,
 * those of the values that it had before. 0; or -1: no such session, more
 * than PRINTS_SECRETS_MAX, a secret that cannot be opened. */
int vault_prints(struct vault *vault, const struct session_table *sessions,
		 struct bytes session, struct buf *out, struct err *err);

#endif
