/*
 * What of a secret's value is secret by itself, when the value has parts: who
 * looks for it in what leaves must look for these.
 *
 *	sigv4		ID:KEY[:TOKEN]: the key and the token; an id is none
 *	certificate	PEM: of each private key a piece that is in no
 *			certificate
 *	the others	the value
 */
#ifndef POLICIES_SECRET_PARTS_H
#define POLICIES_SECRET_PARTS_H

#include "policies/policy_credential.h"

#define SECRET_PARTS_MAX  2
#define SIGV4_KEY_LEN_MAX 256

struct sigv4_key {
	struct bytes id;
	struct bytes secret;
	struct bytes session; /* token; empty: none */
};

/* Read "ID:SECRET" or "ID:SECRET:TOKEN", borrowing from text. 0, or -1. */
int sigv4_key_read(struct bytes text, struct sigv4_key *key);

/* The parts of a value (borrowed) that is attached so; at least one. What has
 * not the form that it must have is its own only part. */
size_t secret_parts(enum policy_attach attach, struct bytes value,
		    struct bytes parts[SECRET_PARTS_MAX]);

#endif
