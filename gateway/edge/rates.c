/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/edge/rates.h"

#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

/* uthash's hash function falls through its cases and says so to gcc only. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

#define MINUTE_MS 60000
/* A name is at most 64 bytes, with its preset's before it. */
#define KEY_SIZE 192
#define KEPT_MAX POLICY_RULES_MAX

/* Of one rule, of this policy or of the guardrail: they outlive it. */
struct rate_rule {
	const struct policy_rule *rule; /* NULL: not met */
	char key[KEY_SIZE];
	struct rate_buckets *buckets; /* one of its users */
	UT_hash_handle hh;
};

/* ---- buckets ---- */

static bool is_same(const struct bucket *bucket,
		    const struct policy_quota *quota)
{
	return bucket->quota.count == quota->count &&
	       bucket->quota.period_ms == quota->period_ms;
}

static bool is_full(struct rate_buckets *buckets, uint64_t now_ms)
{
	return bucket_is_full(&buckets->requests, now_ms) &&
	       bucket_is_full(&buckets->upload, now_ms) &&
	       bucket_is_full(&buckets->download, now_ms);
}

/* One more user of before where the rate is the same; else new ones with the
 * part that was left. NULL without memory. */
static struct rate_buckets *buckets_after(struct rate_buckets *before,
					  const struct policy_rate *rate,
					  uint64_t now_ms)
{
	struct rate_buckets *buckets;

	if (before && is_same(&before->requests, &rate->requests) &&
	    is_same(&before->upload, &rate->upload) &&
	    is_same(&before->download, &rate->download)) {
		before->users++;
		return before;
	}
	buckets = calloc(1, sizeof(*buckets));
	if (!buckets)
		return NULL;
	buckets->users = 1;
	bucket_init(&buckets->requests, rate->requests, now_ms);
	bucket_init(&buckets->upload, rate->upload, now_ms);
	bucket_init(&buckets->download, rate->download, now_ms);
	if (before) {
		bucket_follow(&buckets->requests, &before->requests);
		bucket_follow(&buckets->upload, &before->upload);
		bucket_follow(&buckets->download, &before->download);
	}
	return buckets;
}

static void buckets_drop(struct rate_buckets *buckets)
{
	if (buckets && --buckets->users == 0)
		free(buckets);
}

/* ---- rules ---- */

static void release_rules(struct rate_rule **rules)
{
	struct rate_rule *rule, *next;

	HASH_ITER (hh, *rules, rule, next) {
		HASH_DEL(*rules, rule);
		buckets_drop(rule->buckets);
		free(rule);
	}
}

/* Names are unique in a policy. */
static void write_key(const struct policy *policy,
		      const struct policy_rule *rule, char key[KEY_SIZE])
{
	bool is_own = rule >= policy->rules &&
		      rule < policy->rules + policy->rule_count;

	(void)snprintf(key, KEY_SIZE, "%s%.*s", is_own ? "" : "guardrail ",
		       BYTES_ARGS(rule->name));
}

/* A rule of before, which may come again. */
static int keep(struct rates *rates, const struct rate_rule *of,
		uint64_t now_ms)
{
	struct rate_rule *kept;

	if (is_full(of->buckets, now_ms))
		return 0;
	kept = HASH_COUNT(rates->kept) < KEPT_MAX ? calloc(1, sizeof(*kept))
						  : NULL;
	if (!kept)
		return -1;
	memcpy(kept->key, of->key, sizeof(kept->key));
	HASH_ADD_STR(rates->kept, key, kept);
	if (!kept->hh.tbl) {
		free(kept);
		return -1;
	}
	kept->buckets = of->buckets;
	kept->buckets->users++;
	return 0;
}

static int keep_all(struct rates *rates, const struct rates *before,
		    uint64_t now_ms)
{
	for (const struct rate_rule *rule = before->met; rule;
	     rule = rule->hh.next)
		if (keep(rates, rule, now_ms) < 0)
			return -1;
	for (const struct rate_rule *rule = before->kept; rule;
	     rule = rule->hh.next)
		if (keep(rates, rule, now_ms) < 0)
			return -1;
	return 0;
}

static void forget(struct rates *rates, struct rate_rule *kept)
{
	HASH_DEL(rates->kept, kept);
	buckets_drop(kept->buckets);
	free(kept);
}

struct rate_buckets *rates_of_rule(struct rates *rates,
				   const struct policy *policy,
				   const struct policy_rule *rule,
				   uint64_t now_ms)
{
	struct rate_rule *known, *kept;

	HASH_FIND_PTR(rates->met, &rule, known);
	if (known)
		return known->buckets;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->rule = rule;
	write_key(policy, rule, known->key);
	HASH_FIND_STR(rates->kept, known->key, kept);
	known->buckets =
		buckets_after(kept ? kept->buckets : NULL, &rule->rate, now_ms);
	if (known->buckets)
		HASH_ADD_PTR(rates->met, rule, known);
	if (!known->buckets || !known->hh.tbl) {
		buckets_drop(known->buckets);
		free(known);
		return NULL;
	}
	if (kept)
		forget(rates, kept);
	return known->buckets;
}

/* ---- of a session ---- */

int rates_init(struct rates *rates, const struct policy *policy,
	       struct rates *before, uint64_t now_ms)
{
	const struct policy_quota mints = {policy->network_limits.minted_names,
					   MINUTE_MS};

	*rates = (struct rates){0};
	bucket_init(&rates->mints, mints, now_ms);
	if (before)
		bucket_follow(&rates->mints, &before->mints);
	rates->session = buckets_after(before ? before->session : NULL,
				       &policy->rate, now_ms);
	if (!rates->session)
		return -1;
	return before ? keep_all(rates, before, now_ms) : 0;
}

void rates_release(struct rates *rates)
{
	release_rules(&rates->met);
	release_rules(&rates->kept);
	buckets_drop(rates->session);
}
