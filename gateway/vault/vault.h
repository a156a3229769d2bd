/*
 * The vault: keeps every real credential, sealed. The courier gets one token
 * for one request of a session that may have it there; control puts,
 * rotates, lists and removes, and reads none. No network, no other file.
 *
 *	seal.c, key.c	how a secret looks at rest, and the key
 *	store.c		the sealed secrets on disk
 *	rotate.c	another key, while it serves
 *	former.c	what a secret was before
 *	supply.c	values that come from elsewhere (source.h)
 *	app.c		tokens of a GitHub App
 *	retire.c	and their end, when they were replaced
 *	supply_list.c	which sources there are, and how they do
 *	scope.c		may this session have that?
 *	lent.c, store_lent.c  values for one session, gone with it
 *	signing.c	who may have commits and tags signed
 *	ssh_key.c, ssh_private.c  with which key
 *	tokens.c	what the courier asks
 *	changes.c	what control asks
 */
#ifndef GATEWAY_VAULT_VAULT_H
#define GATEWAY_VAULT_VAULT_H

#include "gateway/keeper/keeper.h"
#include "gateway/vault/former.h"
#include "gateway/vault/store.h"

struct supply;
struct retired;

struct vault {
	struct keeper *keeper;
	struct vault_store store;
	struct former former;
	struct supply *supplies; /* what came from elsewhere */
	size_t waiter_count;	 /* for them */
	struct retired *retired; /* retire.h; the oldest first */
	size_t retired_count;
	struct io_timer *retire; /* NULL: never needed yet */
	size_t revoking;	 /* tokens, of which no answer came yet */
	bool is_stopping;
	struct io_timer *sync;
};

/* What the courier may ask, and what control may (tokens.c, changes.c). */
extern const struct rpc_permit vault_courier_permits[];
extern const size_t vault_courier_permit_count;
extern const struct rpc_permit vault_control_permits[];
extern const size_t vault_control_permit_count;

#endif
