/*
 * What all sandboxes of a host share, each with a bound of its own: the more
 * of it is used, the less one may have. A sandbox may have no more than is
 * left for all others, so n of them that take what they get leave one part in
 * n + 1, and nobody who has none is turned away while anything is left.
 */
#ifndef SANDBOX_HOST_API_SHARE_H
#define SANDBOX_HOST_API_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* May one that has own, of own_max, have one more, where all have total, of
 * total_max? */
static inline bool share_allows(size_t own, size_t own_max, size_t total,
				size_t total_max)
{
	return own < own_max && total < total_max && own < total_max - total;
}

#endif
