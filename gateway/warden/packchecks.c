#include "gateway/warden/packchecks.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/log.h"
#include "gateway/flow/limits.h"
#include "gateway/flow/share.h"

#define TICK_MS 1000 /* who waited, or ran, too long is looked for */

struct packcheck_wait {
	struct child *edge; /* that asks, over the channel of the ticket */
	struct rpc_ticket ticket;
	uint64_t since_ms;
	struct packcheck_wait *next, *prev;
};

static size_t running(const struct warden *warden,
		      const struct warden_session *session)
{
	return children_count(warden, ROLE_PACKCHECK, session);
}

/* NULL: of all. */
static size_t waiting(const struct warden *warden,
		      const struct warden_session *session)
{
	const struct packcheck_wait *wait;
	size_t count = 0;

	DL_FOREACH(warden->packcheck_waits, wait)
	count += !session || wait->edge->session == session;
	return count;
}

static bool may_run(const struct warden *warden,
		    const struct warden_session *session)
{
	return share_has_room(running(warden, session),
			      PACKCHECKS_OF_SESSION_MAX, running(warden, NULL),
			      PACKCHECKS_MAX);
}

static void forget(struct warden *warden, struct packcheck_wait *wait)
{
	DL_DELETE(warden->packcheck_waits, wait);
	free(wait);
}

static struct packcheck_wait *next_of(const struct warden *warden)
{
	struct packcheck_wait *best = NULL, *wait;

	DL_FOREACH(warden->packcheck_waits, wait)
	if (may_run(warden, wait->edge->session) &&
	    (!best || running(warden, wait->edge->session) <
			      running(warden, best->edge->session)))
		best = wait;
	return best;
}

static void start_next(struct warden *warden)
{
	struct packcheck_wait *wait;

	while (!warden->is_draining && (wait = next_of(warden))) {
		struct child *edge = wait->edge;
		struct rpc_ticket ticket = wait->ticket;

		forget(warden, wait);
		child_start_for(edge, edge->session, ROLE_PACKCHECK, ticket);
	}
	if (warden->packcheck_waits)
		io_timer_set(warden->packcheck_timer, TICK_MS);
}

static void refuse_late(struct warden *warden, uint64_t now)
{
	struct packcheck_wait *wait, *next;

	DL_FOREACH_SAFE(warden->packcheck_waits, wait, next)
	{
		if (now - wait->since_ms < PACKCHECK_WAIT_MS)
			continue;
		rpc_refuse(wait->ticket, CONSTRAINT_limit_rate,
			   "too many packs are being checked: waited %d "
			   "seconds for a turn",
			   PACKCHECK_WAIT_MS / 1000);
		forget(warden, wait);
	}
}

/* Whoever is held up by a slow client, or has a pack that takes so long, has
 * had its turn. */
static void end_long(struct warden *warden, uint64_t now)
{
	struct child *child;

	DL_FOREACH(warden->children, child)
	{
		if (child->role != ROLE_PACKCHECK || !child->session ||
		    now - child->started_ms < PACKCHECK_TURN_MS)
			continue;
		log_warn("session %s: a packcheck is ended, others wait",
			 child->session->id);
		child_end(child);
		return;
	}
}

static void on_tick(void *owner)
{
	struct warden *warden = owner;
	uint64_t now = io_loop_now_ms(warden->loop);

	refuse_late(warden, now);
	if (warden->packcheck_waits)
		end_long(warden, now);
	start_next(warden);
}

int packchecks_begin(struct warden *warden)
{
	warden->packcheck_timer = io_timer_new(warden->loop, on_tick, warden);
	return warden->packcheck_timer ? 0 : -1;
}

void packchecks_ask(struct child *edge, struct rpc_ticket ticket)
{
	struct warden *warden = edge->warden;
	struct packcheck_wait *wait;

	if (!share_has_room(waiting(warden, edge->session),
			    PACKCHECK_WAITS_OF_SESSION_MAX,
			    waiting(warden, NULL), PACKCHECK_WAITS_MAX) ||
	    !(wait = calloc(1, sizeof(*wait)))) {
		rpc_refuse(ticket, CONSTRAINT_limit_rate,
			   "too many packs are being checked, and too many "
			   "wait for it");
		return;
	}
	*wait = (struct packcheck_wait){
		.edge = edge,
		.ticket = ticket,
		.since_ms = io_loop_now_ms(warden->loop),
	};
	rpc_ticket_hold(ticket);
	DL_APPEND(warden->packcheck_waits, wait);
	start_next(warden);
}

void packchecks_gone(struct child *child)
{
	struct warden *warden = child->warden;
	struct packcheck_wait *wait, *next;

	if (child->role != ROLE_EDGE)
		return;
	DL_FOREACH_SAFE(warden->packcheck_waits, wait, next)
	{
		if (wait->edge != child)
			continue;
		/* Nobody hears it, but the ticket holds its channel. */
		rpc_refuse(wait->ticket, CONSTRAINT_internal, "ended");
		forget(warden, wait);
	}
}

void packchecks_next(struct warden *warden)
{
	if (warden->packcheck_waits)
		start_next(warden);
}
