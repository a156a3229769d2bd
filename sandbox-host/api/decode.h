/*
 * Percent-encoding in paths and queries (RFC 3986 2.1; a query's '+' is a
 * space, as forms have it).
 */
#ifndef SANDBOX_HOST_API_DECODE_H
#define SANDBOX_HOST_API_DECODE_H

#include "common/arena.h"

/* One piece of a path (untrusted) into arena. 0, or -1: an escape that is
 * none, a NUL or '/' in it, nothing, or no memory. */
int decode_piece(struct arena *arena, struct bytes encoded,
		 struct bytes *piece);
/* A name or value of a query. 0, or -1: an escape that is none, or no
 * memory. */
int decode_query(struct arena *arena, struct bytes encoded, struct bytes *text);
/* Take "name=value" from the front of a query; both are decoded. 1; 0: there
 * is no more; -1: as above. */
int decode_pair(struct arena *arena, struct bytes *query, struct bytes *name,
		struct bytes *value);

#endif
