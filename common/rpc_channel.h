/*
 * A channel from the inside: what rpc.c (its life, asking, answering) and
 * rpc_receive.c (all that is untrusted) share. Nobody else includes this.
 */
#ifndef COMMON_RPC_CHANNEL_H
#define COMMON_RPC_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/rpc.h"
#include "common/rpc_queue.h"
#include "common/rpc_table.h"

enum {
	RPC_HEADER_LEN = 8,
	RPC_DETAIL_MAX = 512,
	RPC_WHY_MAX = 160,
	RPC_TOKEN = 1000, /* one message, in thousandths */
};

struct rpc_header {
	uint16_t type;
	enum rpc_kind kind;
	uint32_t id;
};

/* How much a permit still allows; refilled with time. */
struct rpc_bucket {
	uint64_t level;
	uint64_t at_ms;
};

struct rpc {
	struct io_loop *loop;
	int socket;
	struct rpc_config config;
	struct io_watch *watch;
	struct io_timer *timer;
	uint64_t timer_at; /* when the timer fires; 0: it is off */
	struct rpc_bucket *buckets;
	struct rpc_queue queue;

	struct rpc_table calls; /* ours, without reply yet */
	uint32_t next_id;
	bool are_ids_reused; /* next_id went around */

	struct rpc_table held; /* the peer's, without our answer yet */
	size_t held_notes;
	uint32_t current; /* request that is with its handler, or 0 */
	bool in_note;	  /* a notification is with its handler, not held */

	char why[RPC_WHY_MAX];
	bool is_broken;	  /* to be closed at the end of the turn, for why */
	bool is_closed;	  /* no socket, no watch, no timer any more */
	bool is_deferred; /* on_turn_end is due */
	bool is_over;	  /* closed, and its turn has ended */
	bool is_resting;
};

extern const struct wire_schema rpc_refusal_schema;

/* Close because of the peer: outcomes, then on_closed. */
void rpc_fail(struct rpc *rpc, const char *why);
/* The io_watch_fn of a channel: send what waits, receive what came. */
void rpc_on_ready(int fd, bool readable, bool writable, void *owner);

#endif
