/*
 * What one session may take of something that all share: own_max while it is
 * alone, and as much less as less is left, so that many who take all they
 * can leave room for whoever comes after them.
 */
#ifndef GATEWAY_FLOW_SHARE_H
#define GATEWAY_FLOW_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* own: of it the session has now; used: all have, of max (> own_max). */
static inline bool share_has_room(uint64_t own, uint64_t own_max, uint64_t used,
				  uint64_t max)
{
	return used < max && own * (max - own_max) < (max - used) * own_max;
}

#endif
