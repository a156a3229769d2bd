/*
 * Followers: channels of control that want to hear of new rows as they are
 * stored (`audit tail --watch`, the event stream). A follower is a query
 * that is asked again, from where it stands, whenever rows were stored and its
 * channel has room; so a slow one holds no memory and misses nothing.
 */
#ifndef GATEWAY_LEDGER_FOLLOW_H
#define GATEWAY_LEDGER_FOLLOW_H

#include "gateway/ledger/store.h"

#define FOLLOWERS_MAX 16
/* New rows are told at most this often... */
#define FOLLOW_EVERY_MS 20
/* ...this many messages at once... */
#define FOLLOW_MESSAGES_MAX 8
/* ...and not while more than this waits in the channel. */
#define FOLLOW_QUEUED_MAX (256 * 1024)

struct follower {
	struct rpc *rpc; /* NULL: free */
	struct msg_ledger_query query;
	char session[SESSION_ID_MAX];
	char kind[32];
	uint64_t told; /* rows up to this one were told, or do not match */
};

struct follow {
	struct store *store;
	struct io_timer *timer;
	bool is_timed;
	struct follower followers[FOLLOWERS_MAX];
};

/* 0, or -1. store outlives it. */
int follow_init(struct follow *follow, struct io_loop *loop,
		struct store *store, struct err *err);
void follow_release(struct follow *follow);

/* Tell rpc of rows that match query (untrusted): those after query->after,
 * or, with newest, those stored from now on. A channel follows one query:
 * another replaces it. 0, or -1. */
int follow_add(struct follow *follow, struct rpc *rpc,
	       const struct msg_ledger_query *query, struct err *err);
void follow_remove(struct follow *follow, const struct rpc *rpc);
/* Rows were stored. */
void follow_wake(struct follow *follow);

#endif
