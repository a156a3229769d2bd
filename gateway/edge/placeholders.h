/*
 * The session's placeholders, which the edge knows because they are worth
 * nothing, and what becomes of a request in which one stands.
 */
#ifndef GATEWAY_EDGE_PLACEHOLDERS_H
#define GATEWAY_EDGE_PLACEHOLDERS_H

#include "policies/placeholder.h"
#include "policies/policy.h"

struct placeholder {
	const struct policy_credential *credential;
	enum placeholder_part part;
	struct bytes text;
};

struct placeholders {
	struct placeholder *items;
	size_t count;
	struct bytes *texts; /* of those that were made: no secrets */
	size_t texts_count;  /* at most SECRET_EXEMPT_MAX */
};

/* Those of a policy's credentials, in its arena: the policy's own, and those
 * that variables hold. NULL: no memory. */
const struct placeholders *placeholders_make(struct policy *policy,
					     const uint8_t *lease_hash);

#endif
