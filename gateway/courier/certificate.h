/*
 * A client certificate for an upstream's TLS: what a secret that is attached
 * as `certificate` holds, PEM: a certificate, the rest of its chain, and
 * their private key, in any order. The key is in this process alone, for as
 * long as the handshake needs it.
 */
#ifndef GATEWAY_COURIER_CERTIFICATE_H
#define GATEWAY_COURIER_CERTIFICATE_H

#include <openssl/x509.h>

#include "common/bytes.h"
#include "common/err.h"
#include "common/rpc.h"

#define CERTIFICATE_CHAIN_MAX 8

struct leg;
struct opening;

struct certificate {
	X509 *chain[CERTIFICATE_CHAIN_MAX]; /* the leaf first */
	size_t count;
	EVP_PKEY *key;
};

/* Read a secret. 0, or -1 with *err (no byte of it in the words). Released
 * by the caller in either case. */
int certificate_read(struct certificate *certificate, struct bytes pem,
		     struct err *err);
void certificate_release(struct certificate *certificate);

/* ---- opening.c ---- */

/* Ask the vault for what the leg's binding attaches. 0, or -1. */
int leg_ask_token(struct leg *leg, rpc_outcome_fn *on_outcome, void *owner,
		  struct err *err);
/* Ask the vault for the leg's certificate; then leg_start_tls() or
 * leg_fail_opening(). 0, or -1. */
int opening_start(struct leg *leg, struct err *err);
/* Nobody waits any more. */
void opening_cancel(struct opening *opening);

#endif
