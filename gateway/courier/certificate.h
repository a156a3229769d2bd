/*
 * A client certificate for an upstream's TLS: what a secret that is attached
 * as `certificate` holds, PEM: a certificate, the rest of its chain, and
 * their private key, in any order. The key is in this process alone, for as
 * long as the handshake needs it.
 */
#ifndef GATEWAY_COURIER_CERTIFICATE_H
#define GATEWAY_COURIER_CERTIFICATE_H

#include "common/rpc.h"
#include "gateway/tls/certificate.h"

struct leg;
struct opening;

/* ---- opening.c ---- */

/* Ask the vault for what the leg's binding attaches. 0, or -1. */
int leg_ask_token(struct leg *leg, rpc_outcome_fn *on_outcome, void *owner,
		  struct err *err);
/* Record that the leg's certificate is used, ask the vault for it; then
 * leg_start_tls() or leg_fail_opening(), which may come inside of this. */
void opening_start(struct leg *leg);
/* Nobody waits any more. */
void opening_cancel(struct opening *opening);

#endif
