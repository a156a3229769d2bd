/*
 * The sealed secrets on disk: one SQLite database, vault.db, in the vault's
 * own directory. It sees sealed values alone; no plaintext is ever written.
 * secure_delete is on: what is removed or replaced is overwritten.
 *
 * When a secret was used is kept in memory and written by vault_store_sync(),
 * so that a token for a request costs no write.
 */
#ifndef GATEWAY_VAULT_STORE_H
#define GATEWAY_VAULT_STORE_H

#include <sqlite3.h>

#include "common/arena.h"
#include "gateway/flow/messages.h"
#include "gateway/flow/package.h"
#include "gateway/vault/key_files.h"

#define VAULT_SECRETS_MAX 300 /* as many as struct msg_secret_list holds */

struct vault_use;

struct vault_store {
	sqlite3 *db;
	struct secret key;
	struct key_files files;
	struct vault_use *uses; /* since the last sync */
};

/* Open or make the store and load its key, before confinement. source says
 * where; may_make is found here. Refused: a key that is not this store's.
 * 0, or -1. */
int vault_store_open(struct vault_store *store,
		     const struct seal_source *source, struct err *err);
/* Sync, close, wipe the key. */
void vault_store_close(struct vault_store *store);

/* What a key is known by, appended to sealed; and is it this key's? 0, or
 * -1. */
int vault_key_mark(const struct secret *key, struct buf *sealed,
		   struct err *err);
int vault_key_is(const struct secret *key, struct bytes sealed,
		 struct err *err);

/* [A-Za-z0-9._-]{1,128} */
bool vault_name_is_valid(struct bytes name);

/* Seal and keep value under name (valid), replacing what was there.
 * ERR_TOO_LARGE: there are VAULT_SECRETS_MAX already. 0, or -1. */
int vault_store_put(struct vault_store *store, struct bytes name,
		    struct bytes value, uint64_t now_ms, struct err *err);
/* Is there one of that name? */
bool vault_store_has(struct vault_store *store, struct bytes name);
/* Open the secret of that name. ERR_MISSING: there is none. 0, or -1. */
int vault_store_get(struct vault_store *store, struct bytes name,
		    struct secret *value, struct err *err);
/* ERR_MISSING: there is none. 0, or -1. */
int vault_store_remove(struct vault_store *store, struct bytes name,
		       struct err *err);
/* All names, in order; in arena. 0, or -1. */
int vault_store_list(struct vault_store *store, struct arena *arena,
		     struct msg_secret_list *list, struct err *err);

/* ---- what is lent to one session: store_lent.c. Its name there is the
 * session's and '/' and its own, so no other secret has it ---- */

#define LENT_OF_SESSION_MAX 128
#define LENT_MAX	    4096 /* of all sessions */
#define LENT_KEY_MAX	    (SESSION_ID_MAX + 1 + LENT_NAME_MAX)

/* Is that how a policy names what is lent (POLICY_LENT)? */
bool lent_is_named(struct bytes secret);
/* Its name in the store, for a session; secret with or without POLICY_LENT.
 * Views key. Empty: it is none. */
struct bytes lent_key(struct bytes session, struct bytes secret,
		      char key[LENT_KEY_MAX + 1]);
/* As vault_store_put(), within the bounds above. */
int vault_store_lend(struct vault_store *store, struct bytes session,
		     struct bytes name, struct bytes value, uint64_t now_ms,
		     struct err *err);
/* Remove all that is lent to the session. 0, or -1. */
int vault_store_end_session(struct vault_store *store, struct bytes session,
			    struct err *err);
/* The session of what is lent first, in the order of names, after that one
 * (empty: at all), in id. False: none. */
bool vault_store_next_session(struct vault_store *store, struct bytes after,
			      char id[SESSION_ID_MAX + 1]);

/* Seal and keep, without looking how many there are. 0, or -1. */
int vault_store_write(struct vault_store *store, struct bytes name,
		      struct bytes value, uint64_t now_ms, struct err *err);

/* Note that the secret was used. */
void vault_store_used(struct vault_store *store, struct bytes name,
		      uint64_t now_ms);
/* Write what vault_store_used() noted. 0, or -1: it is kept for later. */
int vault_store_sync(struct vault_store *store, struct err *err);

#endif
