/*
 * Does an upstream send our credential back (security D1, D3)? The courier
 * looks for it in the bytes that it passes to an edge, across any division
 * of them, and parses nothing.
 *
 * Watched are the token as it is and, where it went out as Basic, in that
 * encoding: the first REFLECT_NEEDLE_MAX bytes of each, which is enough to
 * stop before more than REFLECT_LEAST - 1 of them have passed. A token
 * shorter than that is not watched for: it would be found everywhere.
 *
 * Owned by a leg. Holds a secret: released with the leg.
 */
#ifndef GATEWAY_COURIER_REFLECT_H
#define GATEWAY_COURIER_REFLECT_H

#include <sys/types.h>

#include "common/secret.h"

#define REFLECT_NEEDLES	   2
#define REFLECT_NEEDLE_MAX 64
/* So much of a needle's beginning is no chance any more: it is held back
 * until what follows is known. */
#define REFLECT_LEAST 8

struct reflect {
	struct secret needles[REFLECT_NEEDLES];
	size_t count;
	/* The last bytes that passed. */
	uint8_t passed[REFLECT_NEEDLE_MAX - 1];
	size_t passed_len;
};

/* Zeroed memory is an empty one. Forget everything, wiped. */
void reflect_release(struct reflect *reflect);
/* Watch for needle. 0, or -1: no memory to lock, or one too many. */
int reflect_watch(struct reflect *reflect, struct bytes needle,
		  struct err *err);
/* How many bytes of data, which follow what has passed, may pass now: all,
 * less an end that may be a needle's beginning; give that again with what
 * comes after it. -1: a needle is in them. */
ssize_t reflect_pass(struct reflect *reflect, struct bytes data);

#endif
