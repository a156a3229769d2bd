/*
 * A token bucket: a quota of so many in each period, all of which may be
 * used at once and which comes back evenly. Pure: the caller says what time
 * it is. Exact integers, whatever the sizes.
 */
#ifndef GATEWAY_DECIDE_BUCKET_H
#define GATEWAY_DECIDE_BUCKET_H

#include "policies/policy_rule.h"

#define BUCKET_NEVER UINT64_MAX

struct bucket {
	struct policy_quota quota;
	uint64_t level; /* whole tokens that are left */
	uint64_t rest;	/* of a token: rest / period_ms, less than one */
	uint64_t at_ms; /* as of then */
};

/* A full bucket. A quota of count 0 (or without a period) has no limit.
 * now_ms is monotonic, here and below. */
void bucket_init(struct bucket *bucket, struct policy_quota quota,
		 uint64_t now_ms);

/* As large a part of a full bucket is left as of before, at its time. One of
 * them without a limit: all of it. */
void bucket_follow(struct bucket *bucket, const struct bucket *before);

/* Is all of it there? Also of one without a limit. */
bool bucket_is_full(struct bucket *bucket, uint64_t now_ms);

/* Tokens that are left; UINT64_MAX when there is no limit. */
uint64_t bucket_left(struct bucket *bucket, uint64_t now_ms);

/* Take tokens: as many as are left and no more are taken. */
void bucket_take(struct bucket *bucket, uint64_t now_ms, uint64_t tokens);

/* In how many milliseconds tokens can be taken, if nobody takes any before:
 * 0 now, BUCKET_NEVER when they are more than the bucket holds. */
uint64_t bucket_wait_ms(struct bucket *bucket, uint64_t now_ms,
			uint64_t tokens);

#endif
