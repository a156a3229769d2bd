/*
 * A certificate, the rest of its chain and their private key, from PEM, in
 * any order: what one side of a handshake shows.
 */
#ifndef GATEWAY_TLS_CERTIFICATE_H
#define GATEWAY_TLS_CERTIFICATE_H

#include <openssl/x509.h>

#include "common/bytes.h"
#include "common/err.h"

#define CERTIFICATE_CHAIN_MAX 8

struct certificate {
	X509 *chain[CERTIFICATE_CHAIN_MAX]; /* the leaf first */
	size_t count;
	EVP_PKEY *key;
};

/* Read it. 0, or -1 with *err (no byte of it in the words). Released by the
 * caller in either case. */
int certificate_read(struct certificate *certificate, struct bytes pem,
		     struct err *err);
void certificate_release(struct certificate *certificate);

#endif
