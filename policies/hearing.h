/*
 * One request before the rules: what was read of it, once, and how a rule's
 * conditions hold. Made for one decision and released after it.
 *
 * A condition holds of all its values, of none, or something between: some
 * values of a repeated key, a value that cannot be read. Who allows needs
 * all; who denies takes the least sign; who asks is not for the doubtful,
 * which is refused (decide_rule.h).
 */
#ifndef POLICIES_HEARING_H
#define POLICIES_HEARING_H

#include "common/arena.h"
#include "policies/facts.h"
#include "policies/policy.h"

#define HEARING_ARENA_MAX (256 * 1024)

enum holds { HOLDS_NOT, HOLDS_PARTLY, HOLDS };

struct hearing {
	const struct request_facts *facts;
	struct arena arena;
	struct fields query; /* once it was read */
	bool has_query, query_is_bad;
	/* Set by whatever does not hold: the key, header, pointer or field
	 * that differs, and more about it; for traces and refusals. */
	struct bytes differs;
};

void hearing_init(struct hearing *hearing, const struct request_facts *facts);
void hearing_release(struct hearing *hearing);

/* The rule's query, its headers. */
enum holds query_holds(struct hearing *hearing,
		       const struct policy_matches *matches);
enum holds headers_hold(struct hearing *hearing,
			const struct policy_matches *matches);

/* The URL's query, read once; NULL: it can be read in two ways. */
const struct fields *hearing_query(struct hearing *hearing);

/* Every match against fields. Another spelling of a name (spelling.h) is
 * taken for the name by some servers: its values count, but alone they are
 * not enough. nocase: names are equal in any case, as headers' are. */
enum holds fields_hold(struct hearing *hearing,
		       const struct policy_matches *matches,
		       const struct fields *fields, bool nocase);

/* The lesser of the two. */
static inline enum holds holds_both(enum holds one, enum holds two)
{
	return one < two ? one : two;
}

#endif
