#include "gateway/decide/bucket.h"

/* Tokens times milliseconds: two 64-bit numbers multiplied. */
__extension__ typedef unsigned __int128 product;

static bool has_limit(const struct bucket *bucket)
{
	return bucket->quota.count > 0 && bucket->quota.period_ms > 0;
}

static void fill(struct bucket *bucket)
{
	bucket->level = bucket->quota.count;
	bucket->rest = 0;
}

void bucket_init(struct bucket *bucket, struct policy_quota quota,
		 uint64_t now_ms)
{
	*bucket = (struct bucket){.quota = quota, .at_ms = now_ms};
	fill(bucket);
}

static void refill(struct bucket *bucket, uint64_t now_ms)
{
	const struct policy_quota *quota = &bucket->quota;
	uint64_t elapsed = now_ms > bucket->at_ms ? now_ms - bucket->at_ms : 0;
	product gained;

	bucket->at_ms += elapsed;
	if (elapsed >= quota->period_ms) {
		fill(bucket);
		return;
	}
	gained = (product)quota->count * elapsed + bucket->rest;
	if (gained / quota->period_ms >= quota->count - bucket->level) {
		fill(bucket);
		return;
	}
	bucket->level += (uint64_t)(gained / quota->period_ms);
	bucket->rest = (uint64_t)(gained % quota->period_ms);
}

uint64_t bucket_left(struct bucket *bucket, uint64_t now_ms)
{
	if (!has_limit(bucket))
		return UINT64_MAX;
	refill(bucket, now_ms);
	return bucket->level;
}

void bucket_follow(struct bucket *bucket, const struct bucket *before)
{
	struct bucket left = *before;

	if (!has_limit(bucket) || !has_limit(before))
		return;
	refill(&left, bucket->at_ms);
	if (left.quota.count == bucket->quota.count &&
	    left.quota.period_ms == bucket->quota.period_ms)
		*bucket = left;
	else
		bucket->level = (uint64_t)((product)bucket->quota.count *
					   left.level / left.quota.count);
}

bool bucket_is_full(struct bucket *bucket, uint64_t now_ms)
{
	return !has_limit(bucket) ||
	       bucket_left(bucket, now_ms) == bucket->quota.count;
}

void bucket_take(struct bucket *bucket, uint64_t now_ms, uint64_t tokens)
{
	uint64_t left = bucket_left(bucket, now_ms);

	if (has_limit(bucket))
		bucket->level -= tokens < left ? tokens : left;
}

uint64_t bucket_wait_ms(struct bucket *bucket, uint64_t now_ms, uint64_t tokens)
{
	const struct policy_quota *quota = &bucket->quota;
	uint64_t left = bucket_left(bucket, now_ms);
	product missing;

	if (tokens <= left)
		return 0;
	if (tokens > quota->count)
		return BUCKET_NEVER;
	missing = (product)(tokens - left) * quota->period_ms - bucket->rest;
	return (uint64_t)((missing + quota->count - 1) / quota->count);
}
