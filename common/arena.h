/*
 * An arena: memory that is given back all at once. One per request (reset
 * at the next) or per policy (freed with it). Bounded; nothing in it is
 * freed alone.
 */
#ifndef COMMON_ARENA_H
#define COMMON_ARENA_H

#include <stddef.h>

#include "common/bytes.h"

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used; /* bytes handed out since the last reset */
	size_t max;  /* bound on used */
};

/* An empty arena that may hand out max bytes in all. */
void arena_init(struct arena *arena, size_t max);
/* Give everything back (a few blocks of the common size are kept, zeroed, for
 * whichever arena of the process wants one next). The arena is then as after
 * arena_init: so an owner that rests holds nothing. */
void arena_release(struct arena *arena);
/* Take everything back, keep the first block for the next use. */
void arena_reset(struct arena *arena);

/* len zeroed bytes aligned for any type; NULL when the bound or memory
 * forbids. */
void *arena_alloc(struct arena *arena, size_t len);
/* count * size zeroed bytes; NULL also on overflow. */
void *arena_array(struct arena *arena, size_t count, size_t size);
/* A copy that lives as long as the arena; {NULL, 0} for an empty view; data
 * NULL with len 0 when there is no room (check against the source's len). */
struct bytes arena_copy(struct arena *arena, struct bytes bytes);
/* A terminated copy; NULL when there is no room. */
char *arena_str(struct arena *arena, struct bytes bytes);
/* A formatted, terminated string; NULL when there is no room. */
char *arena_format(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
