/*
 * Edges that tell much. Each message would wake the ledger, for rows that
 * wait BATCH_WAIT_MS for company anyway: a channel that brings many is let
 * rest, and what came on it is read and stored every REST_MS. What was told
 * waits in the socket meanwhile: it is out of the edge's hands. A socket holds
 * 200 to 500 KiB, less than what an edge can tell in REST_MS, and what does not
 * fit waits in the edge: where more than REST_FEW
 * records come in REST_READ_MS, it is read that often.
 *
 * The order of things stays: before anybody else's message is read, what
 * edges told before it is collected (rest_collect()).
 */
#ifndef GATEWAY_LEDGER_REST_H
#define GATEWAY_LEDGER_REST_H

#include "gateway/keeper/keeper.h"

#define REST_MS	       20
#define REST_READ_MS   4
#define REST_FEW       16 /* records; 5 times as many fit a socket */
#define REST_NOTES_MIN 8  /* messages in REST_MS: then it rests */

struct rest_peer; /* keeper_peer.owner */

struct rest {
	struct io_loop *loop;
	struct io_timer *timer;
	struct rest_peer *resting;
	uint64_t judged_ms; /* since then notes are counted */
	uint64_t read_ms;   /* since then records are counted */
	/* What was told in the last REST_MS is here. */
	void (*on_collected)(void *owner);
	void *owner;
};

/* 0, or -1 when memory is out. */
int rest_init(struct rest *rest, struct io_loop *loop,
	      void (*on_collected)(void *owner), void *owner);
/* The peer told of so many records: it may have to rest from now on. */
void rest_note(struct rest *rest, struct keeper_peer *peer, size_t records);
/* Read what waits in the channels that rest. Not from inside an answer. */
void rest_collect(struct rest *rest);
/* The peer's channel is closed. */
void rest_forget(struct rest *rest, struct keeper_peer *peer);

#endif
