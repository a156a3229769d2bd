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

struct packcheck_queue {
	struct packcheck_wait *waits;
	struct io_timer *timer;
	struct child *spare; /* confined, and nobody's yet; or NULL */
	struct io_timer *spare_timer;
};

static size_t running(const struct warden *warden,
		      const struct warden_session *session)
{
	bool has_spare = !session && warden->queue->spare;

	return children_count(warden, ROLE_PACKCHECK, session) - has_spare;
}

/* NULL: of all. */
static size_t waiting(const struct warden *warden,
		      const struct warden_session *session)
{
	const struct packcheck_wait *wait;
	size_t count = 0;

	DL_FOREACH(warden->queue->waits, wait)
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
	DL_DELETE(warden->queue->waits, wait);
	free(wait);
}

/* Nobody hears it, but the ticket holds its channel. */
static void drop(struct warden *warden, struct packcheck_wait *wait)
{
	rpc_refuse(wait->ticket, CONSTRAINT_internal, "ended");
	forget(warden, wait);
}

static struct packcheck_wait *next_of(const struct warden *warden)
{
	struct packcheck_wait *best = NULL, *wait;

	DL_FOREACH(warden->queue->waits, wait)
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
	if (warden->queue->waits)
		io_timer_set(warden->queue->timer, TICK_MS);
}

static void refuse_late(struct warden *warden, uint64_t now)
{
	struct packcheck_wait *wait, *next;

	DL_FOREACH_SAFE(warden->queue->waits, wait, next)
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
	if (warden->queue->waits)
		end_long(warden, now);
	start_next(warden);
}

/* ---- the spare one ---- */

static void on_not_wanted(void *owner)
{
	struct warden *warden = owner;

	if (warden->queue->spare)
		child_end(warden->queue->spare);
}

void packchecks_soon(struct warden *warden)
{
	struct packcheck_queue *queue = warden->queue;
	struct err err;

	if (warden->is_draining || running(warden, NULL) >= PACKCHECKS_MAX)
		return;
	io_timer_set(queue->spare_timer, PACKCHECK_SPARE_MS);
	if (queue->spare)
		return;
	queue->spare = child_add(warden, ROLE_PACKCHECK, NULL, &err);
	if (!queue->spare)
		log_error("no spare packcheck: %s", err.text);
}

struct child *packchecks_new(struct warden *warden,
			     struct warden_session *session, struct err *err)
{
	struct child *spare = warden->queue->spare;

	if (!spare || !spare->rpc)
		return child_add(warden, ROLE_PACKCHECK, session, err);
	warden->queue->spare = NULL;
	spare->session = session;
	/* Its turn begins. */
	spare->started_ms = io_loop_now_ms(warden->loop);
	return spare;
}

/* ---- who asks ---- */

int packchecks_begin(struct warden *warden)
{
	static struct packcheck_queue queue;

	queue = (struct packcheck_queue){
		.timer = io_timer_new(warden->loop, on_tick, warden),
		.spare_timer =
			io_timer_new(warden->loop, on_not_wanted, warden),
	};
	warden->queue = &queue;
	return queue.timer && queue.spare_timer ? 0 : -1;
}

void packchecks_end(struct warden *warden)
{
	struct packcheck_queue *queue = warden->queue;
	struct packcheck_wait *wait, *next;

	DL_FOREACH_SAFE(queue->waits, wait, next)
	drop(warden, wait);
	io_timer_free(queue->timer);
	io_timer_free(queue->spare_timer);
	warden->queue = NULL;
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
	DL_APPEND(warden->queue->waits, wait);
	start_next(warden);
}

void packchecks_gone(struct child *child)
{
	struct warden *warden = child->warden;
	struct packcheck_wait *wait, *next;

	if (!warden->queue)
		return;
	if (child == warden->queue->spare)
		warden->queue->spare = NULL;
	DL_FOREACH_SAFE(warden->queue->waits, wait, next)
	if (wait->edge == child)
		drop(warden, wait);
}

void packchecks_next(struct warden *warden)
{
	if (warden->queue && warden->queue->waits)
		start_next(warden);
}
