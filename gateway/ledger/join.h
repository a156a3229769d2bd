/*
 * One row for a request: the outcome of what waits to be stored joins its
 * decision, and the two are one link of the chain.
 *
 * Joined is only what says nothing else: the request was allowed, it ended
 * without a refusal, and the outcome names the same session, request, rule,
 * target, method, path and approval. The row is then the decision's, in its
 * place, with the outcome's status, bytes and time. Every other outcome is a
 * row of its own, as is one whose decision is stored already: the record of
 * what is decided never waits for how it ends.
 *
 * Of those that wait the table knows one for each slot, the newest: an
 * outcome that finds another there is a row of its own.
 */
#ifndef GATEWAY_LEDGER_JOIN_H
#define GATEWAY_LEDGER_JOIN_H

#include "gateway/flow/record.h"

#define JOIN_SLOTS_BITS 11

/* A record that waits; its texts live as long as it does. */
struct join_entry {
	struct record record;
	uint64_t ended_ms; /* not 0: the outcome is in it */
};

struct join {
	struct join_entry *slots[1 << JOIN_SLOTS_BITS];
	bool is_used;
};

/* Remember a record that waits, if an outcome may join it. */
void join_offer(struct join *join, struct join_entry *entry);
/* Let a record join the decision that it is the outcome of. False: it is
 * none, or a row of its own. */
bool join_take(struct join *join, const struct record *outcome);
/* Forget all: what waited does so no more. */
void join_clear(struct join *join);

#endif
