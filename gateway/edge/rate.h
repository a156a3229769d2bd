/*
 * How much a session may do in a time, and how much by one rule: requests,
 * bytes up, bytes down (network.rate and a rule's rate). What has a known
 * length is taken from the budget at once or refused; what has none is
 * taken as it flows, and is cut when the budget is used up.
 */
#ifndef GATEWAY_EDGE_RATE_H
#define GATEWAY_EDGE_RATE_H

#include "gateway/edge/rates.h"

struct conn;

/* The session's, the rule's, the guardrail's rule's. */
#define RATE_SETS_MAX 3

/* Of a connection: what its request is charged to. */
struct rate_charge {
	bool is_open;
	struct rate_buckets *sets[RATE_SETS_MAX];
	size_t count;
	uint64_t up, down; /* taken already, not used yet */
	/* After a refusal: when it would pass; 0: not known, BUCKET_NEVER. */
	uint64_t retry_ms;
};

/* A request or tunnel that conn->verdict allows is about to leave, with a
 * body of upload bytes (0: none, or not known). 0, or -1 with nothing taken:
 * limit_rate (also when its host is one new name too many), or
 * host_not_allowed when its name tells too much for a wildcard. */
int rate_begin(struct conn *conn, uint64_t upload);
/* A certificate is about to be made for conn->errand->target. 0/-1. */
int rate_mint(struct conn *conn);
/* conn->law is another, and conn->verdict of it: what flows from now on is
 * charged to its budgets. 0/-1. */
int rate_move(struct conn *conn);
/* A response of that length is about to be sent to the client. 0/-1. */
int rate_expect(struct conn *conn, uint64_t download);
/* Bytes went up, or down. 0/-1: they may not; the charge is closed. Nothing
 * is charged outside of rate_begin() and rate_end(). */
int rate_up(struct conn *conn, uint64_t bytes);
int rate_down(struct conn *conn, uint64_t bytes);
void rate_end(struct conn *conn);

/* Seconds for Retry-After of conn->refusal (limit_rate); 0: say nothing. */
unsigned rate_retry_after_s(const struct conn *conn);

#endif
