/*
 * How often a client may ask: the daemon answers so many questions a second of
 * this whole process, and each request is about one. Who has a key, and who
 * has tokens of one sandbox, is a client. It has no more requests in a second
 * than are left for all others (share.h), so that nobody who asks rarely is
 * turned away for those who ask all the time. Many who take turns can leave
 * nothing all the same: so tokens never have what is kept for keys, by which
 * sandboxes are ended.
 */
#ifndef SANDBOX_HOST_API_PACE_H
#define SANDBOX_HOST_API_PACE_H

#include <stdbool.h>

#include "common/bytes.h"
#include "sandbox-host/flow/api_config.h"

#define PACE_MS		 1000
#define PACE_MAX	 HOST_ASKS_MAX	    /* requests of all in that time */
#define PACE_TOKENS_MAX	 (PACE_MAX / 4 * 3) /* those with tokens */
#define PACE_BOXES_MAX	 4096		    /* told apart; a power of two */
#define PACE_CLIENTS_MAX (API_KEYS_MAX + PACE_BOXES_MAX)

/* Zeroed: nobody asked yet. */
struct pace {
	uint64_t begun_ms;
	size_t total, tokens;
	uint16_t own[PACE_CLIENTS_MAX];
};

/* The client who has the key at index, or tokens of a sandbox. Two of these
 * are one where their ids have the same digest, of PACE_BOXES_MAX. */
unsigned pace_key(size_t index);
unsigned pace_box(struct bytes sandbox);
/* Count a request. False: it was one too many. */
bool pace_take(struct pace *pace, unsigned client, uint64_t now_ms);

/*
 * How many requests are being answered at a time. Each has a connection until
 * its answer is complete, and that may be long (a WebSocket, a command): who
 * has tokens, be it one signed route, would have all of them. So tokens never
 * have what is kept for keys, and those of one sandbox no more than are left
 * for all others. Zeroed: nobody has any.
 */
struct pace_held {
	size_t tokens;
	uint16_t own[PACE_BOXES_MAX];
};

/* Count one that begins, of max connections. False: it was one too many. */
bool pace_hold(struct pace_held *held, unsigned client, size_t max);
/* One that was counted is over. */
void pace_let_go(struct pace_held *held, unsigned client);

#endif
