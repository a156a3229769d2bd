/*
 * The operator's root certificates as a lookup of an X509_STORE that decodes
 * only what is asked for. Decoding all of a system's bundle costs 87 ms in
 * OpenSSL 3.0 and some MiB in each of a thousand edges; a session talks to
 * names under two or three roots.
 *
 * On first use the bundle's subjects are indexed (some ms); a root is
 * decoded and added to the store when a chain asks for its subject.
 */
#ifndef GATEWAY_TLS_ROOTS_H
#define GATEWAY_TLS_ROOTS_H

#include <openssl/x509_vfy.h>

#include "common/bytes.h"
#include "common/err.h"

#define TLS_ROOTS_MAX 2000

/* Add the lookup to store. pem must live as long as the store. 0, or -1. */
int tls_roots_add(X509_STORE *store, struct bytes pem, struct err *err);

#endif
