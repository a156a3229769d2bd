/*
 * Private Ed25519 keys as people have them: what ssh-keygen writes
 * (PROTOCOL.key of OpenSSH) and PKCS#8 (RFC 8410), in PEM. Without a
 * passphrase: nobody is there to be asked.
 */
#ifndef GATEWAY_VAULT_SSH_PRIVATE_H
#define GATEWAY_VAULT_SSH_PRIVATE_H

#include "common/bytes.h"
#include "common/secret.h"

/* The seed (RFC 8032) of the key in text, into an empty secret; and if the
 * file tells it, the public half in told, which is not believed here. 0; or
 * -1 with ERR_INVALID and one line that says why. */
int ssh_private_read(struct bytes text, struct secret *seed, uint8_t told[32],
		     bool *has_told, struct err *err);

#endif
