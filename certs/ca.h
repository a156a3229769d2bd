/*
 * The installation's certificate authority: one P-256 key and a
 * self-signed certificate, made once, kept in the minter's own directory
 * (ca.key, mode 0600, and ca.pem). Owned by the minter alone; the key never
 * leaves the process and is never printed.
 *
 * certs/leaf.h signs with it, certs/bundle.h tells the world to trust it.
 */
#ifndef CERTS_CA_H
#define CERTS_CA_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "common/bytes.h"
#include "common/err.h"

#define CA_DAYS	       3650
#define CA_DER_MAX     1024
#define CA_COMMON_NAME "Sallyport CA"

struct ca {
	EVP_PKEY *key;
	X509 *cert;
	uint8_t der[CA_DER_MAX]; /* of cert */
	size_t der_len;
};

/* Keep private keys that OpenSSL holds from now on in locked memory that
 * stays out of core dumps. Once per process, before ca_open(). 0, or -1. */
int ca_protect_memory(struct err *err);

/* Load the CA of the directory dir_fd, or make what is missing of it: both
 * files, or the certificate of a key that is there. Fails when the
 * certificate stands there without its key, when others may read ca.key,
 * when the two do not belong together, when the certificate is not a CA, and
 * when wall_ms (now) is outside its validity. 0, or -1. */
int ca_open(int dir_fd, uint64_t wall_ms, struct ca *ca, struct err *err);

/* Make a CA in memory: P-256, CA:TRUE, pathlen 0, keyCertSign, valid from
 * one day before wall_ms for CA_DAYS. 0, or -1. */
int ca_make(uint64_t wall_ms, struct ca *ca, struct err *err);

void ca_release(struct ca *ca);

static inline struct bytes ca_der(const struct ca *ca)
{
	return bytes_from(ca->der, ca->der_len);
}

#endif
