/*
 * The budgets of a session (network.rate and a rule's rate), which a change of
 * its policy does not fill again: a rule is known by its name. Where its rate
 * is the same in both policies the budget is the same; where it is another, as
 * large a part of it is left. What was used of a rule that is not in the next
 * policy is kept until it has come back.
 */
#ifndef GATEWAY_EDGE_RATES_H
#define GATEWAY_EDGE_RATES_H

#include "gateway/decide/bucket.h"
#include "policies/policy.h"

/* A law and those before it may share them. */
struct rate_buckets {
	size_t users;
	struct bucket requests, upload, download;
};

/* Of a law. */
struct rates {
	struct rate_buckets *session;
	struct rate_rule *met;	/* by rule, made when one is first met */
	struct rate_rule *kept; /* of policies before, by name: not met since */
	struct bucket mints;	/* new names a minute that get a certificate */
};

/* The budgets of a policy that comes after the one of before; NULL: all are
 * full. 0; or -1, without memory or when too much would be kept. Release it in
 * any case. */
int rates_init(struct rates *rates, const struct policy *policy,
	       struct rates *before, uint64_t now_ms);
/* rates may be all zero. */
void rates_release(struct rates *rates);

/* Of a rule of policy, or of its guardrail, that has a rate; NULL without
 * memory. */
struct rate_buckets *rates_of_rule(struct rates *rates,
				   const struct policy *policy,
				   const struct policy_rule *rule,
				   uint64_t now_ms);

#endif
