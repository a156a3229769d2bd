/*
 * Ed25519 keys as SSH has them, and the one thing that is signed with them:
 * the digest of a git object, in the namespace "git" (PROTOCOL.sshsig of
 * OpenSSH). Nothing here can make a signature that is good for a login, or
 * for a file.
 */
#ifndef GATEWAY_VAULT_SSH_KEY_H
#define GATEWAY_VAULT_SSH_KEY_H

#include "common/buf.h"
#include "common/secret.h"
#include "gateway/flow/messages_sign.h"

#define SSH_SEED_LEN   32 /* RFC 8032 5.1.5: the private key */
#define SSH_PUBLIC_LEN 32

struct ssh_key {
	struct secret seed; /* empty: there is none */
	uint8_t public_key[SSH_PUBLIC_LEN];
};

void ssh_key_init(struct ssh_key *key);
void ssh_key_release(struct ssh_key *key);
/* Make a new one. 0, or -1. */
int ssh_key_make(struct ssh_key *key, struct err *err);
/* Read a private key as ssh-keygen writes it ("OPENSSH PRIVATE KEY"), or as
 * PKCS#8 in PEM. ERR_INVALID, and one line that says why: it is something
 * else, of another kind, or has a passphrase. 0, or -1. */
int ssh_key_read(struct ssh_key *key, struct bytes text, struct err *err);

/* "ssh-ed25519 AAAA...", terminated. */
void ssh_key_write(const struct ssh_key *key, char out[SIGN_KEY_MAX + 1]);
/* Sign the SHA-512 of a git object: the signature, without armor, is appended
 * to blob. 0, or -1. */
int ssh_key_sign(const struct ssh_key *key,
		 const uint8_t digest[SIGN_DIGEST_LEN], struct buf *blob,
		 struct err *err);

#endif
