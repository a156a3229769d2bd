/*
 * Tokens of GitHub Apps that were replaced before their end: what is under
 * way with one may still be sent, then it is revoked.
 */
#ifndef GATEWAY_VAULT_RETIRE_H
#define GATEWAY_VAULT_RETIRE_H

#include "gateway/vault/supply.h"

/* At one time; the oldest is revoked at once when there is one more. */
#define RETIRED_MAX 64
/* Who has got a token sends it within that. */
#define RETIRE_AFTER_MS 5000

/* Revoke the supply's token (copied), a while from now. */
void retire_token(const struct supply *supply);
/* Forget them all, and revoke none. */
void retire_release(struct vault *vault);

#endif
