/*
 * Placeholders: what stands in a sandbox where a secret would. Each is shaped
 * like the real kind, its checksum included, and worth nothing: it is made
 * from the digest of the session's lease and the credential's name, so that
 * whoever serves the session knows it and no other session has it.
 *
 * Where a policy names the text itself, that is one, the same in all sessions.
 *
 * Only letters, digits, '_', '-' and '.' stand in one: it looks the same in
 * a header, a URL, a form and a JSON text.
 */
#ifndef POLICIES_PLACEHOLDER_H
#define POLICIES_PLACEHOLDER_H

#include "common/digest.h"
#include "policies/policy_credential.h"

#define PLACEHOLDER_SIZE 192 /* with NUL */
/* Of a text that a policy chose. Of a body that streams up to seven letters of
 * one may have left before it is known. */
#define PLACEHOLDER_TEXT_LEAST 8
#define PLACEHOLDER_TEXT_MAX   128

/* How those begin that are made and show it. */
#define PLACEHOLDER_OPAQUE_HEAD "placeholder_"
#define PLACEHOLDER_JWT_HEAD                                                   \
	"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."                                \
	"eyJzdWIiOiJwbGFjZWhvbGRlciJ9."

enum placeholder_part {
	PLACEHOLDER_VALUE,  /* of SHAPE_AWS: the access key's id */
	PLACEHOLDER_SECOND, /* SHAPE_AWS alone: its secret */
	PLACEHOLDER_PART_MAX
};

/* How many parts a shape has. */
unsigned placeholder_parts(enum placeholder_shape shape);

/* The placeholder of a credential in the session whose lease has this
 * digest; its length. */
size_t placeholder_make(const uint8_t lease_hash[DIGEST_LEN],
			struct bytes credential, enum placeholder_shape shape,
			enum placeholder_part part, char out[PLACEHOLDER_SIZE]);

/* Why a text of a policy cannot be one: NULL, or one line. (In a file of its
 * own: who reads policies makes none, and loads no libcrypto.) */
const char *placeholder_text_fault(struct bytes text);

#endif
