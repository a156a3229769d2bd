/*
 * Sealing: how a secret looks at rest (security D14). AES-256-GCM through
 * OpenSSL under the vault's key, a random 96-bit nonce for each sealing, and
 * the name and version of the secret as associated data, so that a sealed
 * value cannot be put under another name or taken for a later version.
 *
 *	sealed = format byte (1) || nonce (12) || tag (16) || ciphertext
 *
 * Random nonces are good for 2^32 sealings under one key (NIST SP 800-38D
 * section 8.3); the store counts versions far below that.
 *
 * The key is 32 random bytes: the systemd credential "sallyport-vault-key"
 * when there is one ($CREDENTIALS_DIRECTORY), else the file vault.key in the
 * vault's directory, made at the first start, mode 0600. It is read before
 * confinement and never leaves the process. rotate.h is how it changes.
 */
#ifndef GATEWAY_VAULT_SEAL_H
#define GATEWAY_VAULT_SEAL_H

#include <sys/types.h>

#include "common/buf.h"
#include "common/secret.h"

#define SEAL_KEY_LEN  32
#define SEAL_OVERHEAD (1 + 12 + 16)

/* What a sealed value belongs to. */
struct seal_place {
	struct bytes name;
	uint64_t version;
};

/* Load the key into key. directory is the vault's; credentials is
 * $CREDENTIALS_DIRECTORY or NULL; may_make: there is nothing sealed yet, so a
 * new vault.key may be made, for owner uid ((uid_t)-1: stay). Refused: a key
 * of another length, a file that others may read, a link. 0, or -1. */
struct seal_source {
	int directory;
	const char *credentials;
	uid_t uid;
	bool may_make;
};
int seal_key_load(const struct seal_source *source, struct secret *key,
		  struct err *err);
/* Is it a systemd credential? */
bool seal_key_is_credential(const struct seal_source *source);
/* The credential "sallyport-vault-key.previous": what everything is sealed
 * with when the operator has given another key. 1; 0: there is none; -1. */
int seal_key_previous(const struct seal_source *source, struct secret *key,
		      struct err *err);

/* Seal plain into sealed (appended). 0, or -1. */
int seal_close(const struct secret *key, const struct seal_place *place,
	       struct bytes plain, struct buf *sealed, struct err *err);
/* Open what was sealed for that place. 0, or -1 (ERR_INVALID: it was altered,
 * belongs elsewhere or to another key); plain is then empty. */
int seal_open(const struct secret *key, const struct seal_place *place,
	      struct bytes sealed, struct secret *plain, struct err *err);

#endif
