/*
 * Leaf certificates for the names a sandbox talks to: minted per name, for
 * the key of one edge, short-lived. What is the same in all of them is
 * built once as a template.
 */
#ifndef CERTS_LEAF_H
#define CERTS_LEAF_H

#include "certs/ca.h"

#define LEAF_DER_MAX	    2048
#define LEAF_PUBLIC_KEY_MAX 128 /* a P-256 SubjectPublicKeyInfo has 91 */
#define LEAF_VALID_MS	    (24ull * 3600 * 1000)
#define LEAF_START_BACK_MS  (3600ull * 1000) /* clocks differ */

struct leaf_template {
	const struct ca *ca;
	X509 *cert;
	EVP_MD *digest; /* fetched once */
};

/* What is wanted. */
struct leaf_request {
	struct bytes name; /* untrusted; canonical (policies/host.h): a DNS
			      name or an address literal */
	EVP_PKEY *key;	   /* public, from leaf_key() */
	uint64_t wall_ms;  /* now */
	uint64_t valid_ms; /* <= LEAF_VALID_MS, from now */
};

struct leaf {
	uint8_t der[LEAF_DER_MAX];
	size_t len;
	uint64_t expires_ms; /* wall clock */
};

/* ca must outlive the template. 0, or -1. */
int leaf_template_init(struct leaf_template *template, const struct ca *ca,
		       struct err *err);
void leaf_template_release(struct leaf_template *template);

/* The key of an untrusted SubjectPublicKeyInfo (DER): a point on P-256, in
 * its one encoding (uncompressed, named curve). The caller frees it with
 * EVP_PKEY_free(). NULL on failure. */
EVP_PKEY *leaf_key(struct bytes public_key, struct err *err);

/* Sign a leaf: v3, 128-bit random serial, SAN of exactly the name (DNS or
 * IP), EKU serverAuth, CA:FALSE, keyUsage digitalSignature, an empty subject
 * for names that do not fit one. Never valid beyond the CA. 0, or -1. */
int leaf_mint(const struct leaf_template *template,
	      const struct leaf_request *request, struct leaf *leaf,
	      struct err *err);

#endif
