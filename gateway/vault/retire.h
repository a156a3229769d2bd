/*
 * Tokens of GitHub Apps that were replaced before their end: what is under
 * way with one may still be sent, then it is revoked. And all of them, when the
 * vault stops.
 */
#ifndef GATEWAY_VAULT_RETIRE_H
#define GATEWAY_VAULT_RETIRE_H

#include "gateway/vault/supply.h"

/* At one time; the oldest is revoked at once when there is one more. */
#define RETIRED_MAX 64
/* When the vault stops: the exchange has room for twice as many deals. */
#define REVOKE_AT_ONCE 64
/* Who has got a token sends it within that. */
#define RETIRE_AFTER_MS 5000

/* Revoke the supply's token (copied), a while from now. */
void retire_token(const struct supply *supply);
/* The vault stops: revoke them all, and whatever else is held that an endpoint
 * would take, and stop the loop when each was answered, and each purchase that
 * is under way, or after VAULT_STOP_MS. */
void retire_stop(struct vault *vault);
/* A purchase was answered, or failed. */
void retire_bought(struct vault *vault);
/* A revocation was answered, or failed. */
void retire_ended(struct vault *vault);
/* Forget them all, and revoke none. */
void retire_release(struct vault *vault);

#endif
