/*
 * The query of a URL as servers read it: "a=1&b=two+words".
 */
#ifndef POLICIES_QUERY_H
#define POLICIES_QUERY_H

#include "common/arena.h"
#include "common/err.h"
#include "common/fields.h"

#define QUERY_PAIRS_MAX 256

/* Split an untrusted query (without '?') into names and values in arena,
 * percent-decoded, with '+' as a space; "a" alone is "a=", an empty pair
 * is none. Refused as ambiguous (-1, ERR_INVALID): escapes that are none,
 * "%00", ';' (once a separator too), bytes that no URL holds, and more than
 * QUERY_PAIRS_MAX pairs. */
int query_parse(struct arena *arena, struct bytes query, struct fields *fields,
		struct err *err);

#endif
