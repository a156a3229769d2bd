/*
 * Another key for the vault, while it serves:
 *
 *	1. the new key is written to vault.key.next, on disk
 *	2. one transaction seals every secret, and what the key is known by,
 *	   anew
 *	3. the new key is written to vault.key
 *	4. vault.key.next is emptied
 *
 * Killed at any point, the vault finds a key that opens it: until 2 is on
 * disk the old one, which stands in vault.key; from then on the new one,
 * which stands in vault.key.next until it stands in vault.key. The next start
 * does what is left to do. Nobody can ask anything meanwhile: a request that
 * comes waits for milliseconds.
 */
#ifndef GATEWAY_VAULT_ROTATE_H
#define GATEWAY_VAULT_ROTATE_H

#include "gateway/vault/store.h"

/* Give the store a new key. 0; or -1, and the old one holds
 * (ERR_UNSUPPORTED: the key is the operator's). */
int vault_key_rotate(struct vault_store *store, struct err *err);

/* Seal everything in the store, whose key is store->key, with another one,
 * which then is store->key (taken). One transaction. 0, or -1. */
int vault_reseal(struct vault_store *store, struct secret *key,
		 struct err *err);

/* At the start: is what stands in vault.key.next the store's key? Then
 * finish what was begun, store->key being another. 1: it is store->key now;
 * 0: it is not; -1. */
int vault_key_resume(struct vault_store *store, struct bytes key_check,
		     struct err *err);

#endif
