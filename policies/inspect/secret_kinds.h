/*
 * The kinds of tokens that are recognised: a table that is compiled into
 * one Vectorscan database when the program is built (tool/), and what their
 * formats let us verify.
 */
#ifndef POLICIES_INSPECT_SECRET_KINDS_H
#define POLICIES_INSPECT_SECRET_KINDS_H

#include <stdbool.h>

#include "common/bytes.h"

struct secret_kind {
	const char *name;  /* "github token" */
	const char *regex; /* Vectorscan's dialect of PCRE */
	/* Is the text that matched such a token? NULL: always. */
	bool (*check)(struct bytes text);
	/* Tenths of a bit that each of its bytes holds at least (Shannon):
	 * below it stands an example, not a secret. */
	unsigned entropy_min;
};

extern const struct secret_kind secret_kinds[];
extern const size_t secret_kinds_count;

/* Does the text hold that many tenths of a bit in each byte? */
bool secret_entropy_reaches(struct bytes text, unsigned tenths);

/* The last six of 36 are the CRC-32 of the others in base62 (GitHub's and
 * npm's blog, 2021). */
bool secret_check_github(struct bytes text);
/* Not the ids of AWS's own documentation, which end in EXAMPLE. */
bool secret_check_aws(struct bytes text);
/* The last eight are the CRC-32 of "glsa_" and what follows, little endian
 * (Grafana's pkg/components/satokengen). */
bool secret_check_grafana(struct bytes text);
/* Bech32 (BIP 173), in upper case. */
bool secret_check_age(struct bytes text);
/* RFC 7515, RFC 7516: the first part is a JSON object with "alg". */
bool secret_check_jwt(struct bytes text);
/* The first part is a decimal id. */
bool secret_check_discord(struct bytes text);

#endif
