/*
 * Packchecks run a few at a time, as many as there is memory for; who asks
 * for one more waits for its turn. Next is whoever's session has fewest that
 * run, and of those who asked first.
 */
#ifndef GATEWAY_WARDEN_PACKCHECKS_H
#define GATEWAY_WARDEN_PACKCHECKS_H

#include "gateway/warden/warden.h"

#define PACKCHECKS_OF_SESSION_MAX 2 /* of PACKCHECKS_MAX */
/* Who waits for a packcheck, and of one session; how long one runs while
 * others wait (less than they wait: PACKCHECK_WAIT_MS). */
#define PACKCHECK_WAITS_MAX	       256
#define PACKCHECK_WAITS_OF_SESSION_MAX 32
#define PACKCHECK_SPARE_MS	       10000
#define PACKCHECK_TURN_MS	       120000

/* Before the first is asked for. 0, or -1. */
int packchecks_begin(struct warden *warden);
/* No more are asked for. */
void packchecks_end(struct warden *warden);
/* Start one for the edge's session and answer with its channel, now or when
 * it is its turn; or refuse, when too many wait, or it waited too long. */
void packchecks_ask(struct child *edge, struct rpc_ticket ticket);
/* One will be asked for, most likely: start it, and end it when nobody did. */
void packchecks_soon(struct warden *warden);
/* One for that session, which waited for it or is started now. NULL with
 * *err. */
struct child *packchecks_new(struct warden *warden,
			     struct warden_session *session, struct err *err);
/* A child's channel has ended: what it asked for is not wanted any more. */
void packchecks_gone(struct child *child);
/* One has ended: whose turn is it? */
void packchecks_next(struct warden *warden);

/* ---- answers.c ---- */

/* How many there are for a session, or (NULL) for all. */
size_t children_count(const struct warden *warden, enum role role,
		      const struct warden_session *session);
/* Add a child that works for this session and this asker alone, and answer
 * with the channel to it; or refuse. */
void child_start_for(struct child *asker, struct warden_session *session,
		     enum role role, struct rpc_ticket ticket);

#endif
