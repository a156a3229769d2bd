/*
 * The value of a secret, wherever it comes from: from the store, or from a
 * source of the configuration (gateway/flow/source.h), asked of the warden
 * (files, programs) or bought by the exchange (tokens). What came is kept
 * for its time; one question at a time for each, however many wait.
 */
#ifndef GATEWAY_VAULT_SUPPLY_H
#define GATEWAY_VAULT_SUPPLY_H

#include "gateway/vault/vault.h"

#define SUPPLIES_MAX	   1024
#define SUPPLY_WAITERS_MAX 4096 /* of all together */
/* A file is looked at again, and what failed is not tried again, for so
 * long. */
#define SUPPLY_FILE_MS	 1000
#define SUPPLY_FAILED_MS 1000
#define SUPPLY_KEY_MAX	 1024
#define SUPPLY_REPO_MAX	 160

/* value: NULL, and *err says why. Both are valid for the call only. */
typedef void supply_fn(const struct secret *value, const struct err *err,
		       void *owner);

struct supply_waiter {
	supply_fn *fn;
	void *owner;
	bool was_before; /* it asked before the change: the old one is its */
	struct supply_waiter *next, *prev;
};

/* A value of a source, or what is being done to have it. */
struct supply {
	struct vault *vault;
	const struct config_source *source;
	struct secret value; /* empty: there is none */
	uint64_t fresh_ms;   /* so long nobody asks for another */
	uint64_t expires_ms; /* then it is worth nothing */
	uint64_t failed_ms;  /* so long it is not tried again */
	char why[ERR_TEXT_MAX];
	bool is_asked; /* for another; the answer is still to come */
	bool is_stale; /* and will be too old when it comes */
	/* Meanwhile somebody put or removed what the next purchase is made
	 * with: what comes with the token does not take its place. */
	bool is_refresh_other;
	struct supply_waiter *waiters;
	/* Of a GitHub App's token. */
	char repository[SUPPLY_REPO_MAX + 1]; /* "owner/name" */
	struct source_permission permissions[SOURCE_PERMISSIONS_MAX + 3];
	size_t permissions_count;
	char key[SUPPLY_KEY_MAX];
	UT_hash_handle hh;
};

/* The secret of that name, for a binding of a session (NULL: for nobody's).
 * fn is called once, now or later. */
struct supply_wanted {
	struct bytes name;
	const struct session *session;
	const struct scope_binding *binding;
};
void supply_get(struct vault *vault, const struct supply_wanted *wanted,
		supply_fn *fn, void *owner);

/* What is known now of the source's values for a binding of the session, for
 * its prints; NULL: nothing. */
const struct supply *supply_known(const struct vault *vault,
				  const struct supply_wanted *wanted);

/* What is known of each source of the configuration, in arena. 0, or -1 with
 * *err: no memory. */
int supply_list(const struct vault *vault, uint64_t wall_ms,
		struct arena *arena, struct msg_source_list *list,
		struct err *err);

/* Is it what tokens are bought with? Nothing else is done with it. */
bool supply_is_material(const struct gateway_config *config, struct bytes name);
/* The secret of that name has changed: what was bought with it is not used
 * any more. */
void supply_changed(struct vault *vault, struct bytes name);
/* The configuration is another: files and programs are read anew. */
void supply_reload(struct vault *vault);
/* The session ends: tokens that were for it alone are revoked. */
void supply_session_end(struct vault *vault, const struct session *session);
/* Is a token being bought? */
bool supply_is_bought(const struct vault *vault);
/* Revoke a token of an app that is held, and forget it. False: there is none
 * any more. */
bool supply_revoke_next(struct vault *vault);
void supply_release(struct vault *vault);

/* ---- how each kind is asked; each ends with supply_came() or
 * supply_failed() ---- */

void supply_ask_warden(struct supply *supply); /* supply_local.c */
void supply_buy(struct supply *supply);	       /* supply_bought.c */

/* value (taken) holds so long. */
void supply_came(struct supply *supply, struct secret *value,
		 uint64_t fresh_for_ms, uint64_t expires_in_ms);
void supply_failed(struct supply *supply, const char *why);
/* Tell the endpoint that the supply's token is worth nothing any more. */
void supply_revoke(struct supply *supply);

/* ---- app.c ---- */

/* For which repository, and what a token of the app must be able to do for
 * that binding; the key too. 0, or -1 with *err. */
int app_fill(struct supply *supply, const struct supply_wanted *wanted,
	     struct err *err);
/* Has a live session, but the one that ends, a use for it? */
bool app_is_wanted(const struct supply *supply, const struct session *ending);
/* Before confinement: let the libraries read what they read once. 0, or
 * -1. */
int app_begin(struct err *err);
/* A JWT (RS256) that proves to GitHub who the app is (security: iat 60 s
 * back, exp within 10 minutes). 0, or -1 with *err. */
int app_sign(const struct config_source *source, struct bytes pem,
	     uint64_t wall_ms, struct secret *jwt, struct err *err);
/* Is it an RSA private key of 2048 bits at least, PEM, unencrypted? 0, or
 * -1 with *err. */
int app_key_check(struct bytes pem, struct err *err);

#endif
