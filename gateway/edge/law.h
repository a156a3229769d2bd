/*
 * What a session's edge decides by: its policy, compiled, with what is made
 * from it. A policy may be replaced while the session runs; a request that is
 * under way keeps the law by which it was decided, so whoever holds one counts
 * as its user, and it goes with the last of them.
 */
#ifndef GATEWAY_EDGE_LAW_H
#define GATEWAY_EDGE_LAW_H

#include "gateway/edge/placeholders.h"
#include "gateway/edge/rate.h"
#include "gateway/flow/package.h"

struct law {
	size_t users;
	struct policy *policy;
	const struct placeholders *placeholders;
	struct rates rates;
	struct arena arena; /* of scope */
	struct scope scope; /* as the keepers have it */
};

/* The law of a package, with one user, that comes after before (or NULL): what
 * was used of its rates is used. NULL with *err. */
struct law *law_new(const struct session_package *of, struct law *before,
		    uint64_t now_ms, struct err *err);
struct law *law_use(struct law *law);
/* The law may be NULL. */
void law_drop(struct law *law);

/* Do both send the same secret in the same way, for a binding of that name? */
bool law_same_binding(const struct law *one, const struct law *other,
		      struct bytes name);
/* And for every binding of one? */
bool law_same_bindings(const struct law *one, const struct law *other);
/* May the same be done to that repository of one in both, with the same
 * credential, as far as its refs and verbs go? */
bool law_same_repo(const struct law *one, const struct law *other,
		   const struct policy_repo *repo);
/* May `to` deny an address that `from` lets be dialled? */
bool law_narrows_addresses(const struct law *from, const struct law *to);

#endif
