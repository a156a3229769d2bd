/*
 * Leaf certificates for the names a sandbox talks to: minted per name, for
 * the key of one edge, short-lived. What is the same in all of them is
 * built once as a template.
 */
#ifndef CERTS_LEAF_H
#define CERTS_LEAF_H

#include <openssl/ec.h>

#include "certs/ca.h"

#define LEAF_DER_MAX	   2048
#define LEAF_VALID_MS	   (24ull * 3600 * 1000)
#define LEAF_START_BACK_MS (3600ull * 1000) /* clocks differ */

struct leaf_template {
	const struct ca *ca;
	X509 *cert; /* what differs is set anew for each leaf */
	EC_GROUP *group;
	uint64_t ca_expires_ms;
};

/* What is wanted. */
struct leaf_request {
	struct bytes name;	 /* canonical (policies/host.h): a DNS name or
				    an address literal; checked again */
	struct bytes public_key; /* untrusted: SubjectPublicKeyInfo, DER */
	uint64_t wall_ms;	 /* now */
	uint64_t valid_ms;	 /* <= LEAF_VALID_MS, from now */
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

/* Sign a leaf: v3, 128-bit random serial, SAN of exactly the name (DNS or
 * IP), EKU serverAuth, CA:FALSE, keyUsage digitalSignature. The key must be
 * a point on P-256 in its one encoding (named curve, uncompressed). Never
 * valid beyond the CA. 0, or -1. */
int leaf_mint(struct leaf_template *template,
	      const struct leaf_request *request, struct leaf *leaf,
	      struct err *err);

#endif
