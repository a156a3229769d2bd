/*
 * Messages about signing: see messages.h. What is signed travels as its
 * digest alone; what it is, the edge has read.
 */
#ifndef GATEWAY_FLOW_MESSAGES_SIGN_H
#define GATEWAY_FLOW_MESSAGES_SIGN_H

#include "common/wire.h"

#define SIGN_DIGEST_LEN 64  /* SHA-512 */
#define SIGN_BLOB_MAX	256 /* an Ed25519 one has 178 bytes */
#define SIGN_KEY_MAX	128 /* "ssh-ed25519 AAAA...": 80 characters */
#define SIGN_TAG_MAX	255

/* edge -> courier. All but the digest is for the record alone. */
struct msg_sign {
	struct bytes digest; /* of the whole object, SIGN_DIGEST_LEN bytes */
	struct bytes request_id;
	struct bytes tag; /* its name; empty: it is a commit */
	struct bytes oid; /* a commit's tree, what a tag is of */
};
extern const struct wire_schema msg_sign_schema;

/* courier -> vault. */
struct msg_sign_make {
	struct bytes session;
	struct bytes digest;
};
extern const struct wire_schema msg_sign_make_schema;

struct msg_signed {
	struct bytes blob;	 /* PROTOCOL.sshsig, without its armor */
	struct bytes public_key; /* "ssh-ed25519 AAAA..." */
};
extern const struct wire_schema msg_signed_schema;

/* vault -> control. */
struct msg_signer {
	bool is_on; /* the session has what it may have signed */
	struct bytes name, email;
	struct bytes public_key; /* empty: it is not to be had now */
	struct bytes why;	 /* one line, then */
};
extern const struct wire_schema msg_signer_schema;

#endif
