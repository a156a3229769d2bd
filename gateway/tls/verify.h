/*
 * What a leaf certificate must be beyond what OpenSSL checks (security B8,
 * B10): OpenSSL 3.0 accepts 47 of 183 x509-limbo chains that it should not.
 * Runs after OpenSSL's own verification of chain, time and host name.
 */
#ifndef GATEWAY_TLS_VERIFY_H
#define GATEWAY_TLS_VERIFY_H

#include <openssl/x509.h>

#include "common/err.h"

#define TLS_LEAF_RSA_BITS_MIN 2048
#define TLS_LEAF_EC_BITS_MIN  256
#define TLS_LEAF_SERIAL_MAX   20 /* octets, RFC 5280 4.1.2.2 */

/* An io_tls_check_fn. Requires: version 3; a positive serial of at most 20
 * octets; a key of RSA >= 2048, EC >= 256 bits or Ed25519; no MD5 or SHA-1
 * signature; a subjectAltName; not a CA; extended key usage serverAuth, and
 * a key usage, when there is one, that signs or agrees on keys; valid now.
 * 0, or -1 with the failed check's name in *err ("no subjectAltName"). owner
 * is not used. */
int tls_verify_leaf(X509 *leaf, void *owner, struct err *err);

#endif
