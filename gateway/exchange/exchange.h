/*
 * The exchange: buys short-lived tokens with what the vault keeps, at the
 * endpoints that the configuration names, and nowhere else. It is the only
 * process that speaks with them: the vault has no network, and the courier,
 * which holds the tokens of all sessions, parses nothing.
 *
 *	deal.c	   one purchase: dial, TLS, ask, read, tell the vault; for an
 *		   app's token first whether the repository is the app's
 *	request.c  what is asked (RFC 6749 4.4 and 6; GitHub's API)
 *	reply.c	   HTTP's part of the answer, bounded
 *	answer.c   JSON's part of it, and what may be wrong with it
 *
 * It holds what one purchase needs, as long as that takes. What the endpoint
 * says is untrusted: nothing of it is passed on but a token that looks like
 * one, and the names of errors.
 */
#ifndef GATEWAY_EXCHANGE_EXCHANGE_H
#define GATEWAY_EXCHANGE_EXCHANGE_H

#include "common/secret.h"
#include "gateway/exchange/reply.h"
#include "gateway/keeper/keeper.h"
#include "gateway/tls/client.h"

#define DEALS_MAX		128
#define EXCHANGE_SAY_MAX	(192 * 1024)
#define EXCHANGE_ADDRESS_MAX	64
#define EXCHANGE_REPOSITORY_MAX 256

struct deal;

struct exchange {
	struct keeper *keeper;
	struct tls_client tls;
	struct deal *deals;
	size_t deal_count;
};

/* The exchange as a keeper; its owner is a zeroed struct exchange. */
extern const struct keeper_spec exchange_spec;

/* ---- deal.c ---- */

/* What the vault asks; the ticket is answered, whatever comes. */
void deal_buy(struct exchange *exchange, const struct msg_exchange *wanted,
	      struct rpc_ticket ticket);
void deal_end(struct exchange *exchange, const struct msg_token_end *wanted,
	      struct rpc_ticket ticket);

/* ---- request.c ---- */

/* Write what asks for a token. out holds secrets, and has room for
 * EXCHANGE_SAY_MAX already. 0, or -1 with *err. */
int request_buy(const struct config_source *source,
		const struct msg_exchange *wanted, struct buf *out,
		struct err *err);
/* Write what asks whether the repository is of the app's installation. The
 * same. */
int request_owner(const struct config_source *source,
		  const struct msg_exchange *wanted, struct buf *out,
		  struct err *err);
/* Write what ends an app's token. The same. */
int request_end(const struct config_source *source, struct bytes token,
		struct buf *out, struct err *err);

#endif
