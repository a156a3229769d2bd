#include "gateway/edge/backlog.h"

#include <utlist.h>

#include "gateway/edge/conn.h"
#include "gateway/keeper/records.h"

static void set_timer(struct backlog *backlog)
{
	if (backlog->is_timed)
		return;
	backlog->is_timed = true;
	io_timer_set(backlog->timer, BACKLOG_LOOK_MS);
}

/* Whoever has to wait on says so by the timer: those behind it do, too. */
static void on_look(void *owner)
{
	struct edge *edge = owner;
	struct conn *conn, *next;

	edge->backlog.is_timed = false;
	DL_FOREACH_SAFE(edge->conns, conn, next)
	{
		if (edge->backlog.is_timed)
			return;
		if (conn->state == AT_ROUTE || conn->state == AT_PERMIT)
			lane_deliver(conn, EV_WAKE);
	}
}

int backlog_init(struct edge *edge, struct err *err)
{
	edge->backlog = (struct backlog){0};
	edge->backlog.timer = io_timer_new(edge->keeper->loop, on_look, edge);
	if (!edge->backlog.timer)
		return err_set(err, ERR_SYSTEM, "start a timer");
	return 0;
}

/* Is there hope that it gets shorter soon? */
static bool is_worth_waiting(struct backlog *backlog, uint64_t now_ms)
{
	if (!backlog->is_long)
		backlog->since_ms = now_ms;
	backlog->is_long = true;
	return now_ms - backlog->since_ms < BACKLOG_MS;
}

static enum step refuse(struct conn *conn)
{
	conn_refuse(conn, CONSTRAINT_audit_unavailable, "%s",
		    constraint_text(CONSTRAINT_audit_unavailable));
	return STEP_DENY;
}

/* Do records wait that no socket takes? Those of this turn were not offered
 * to it yet. */
static bool is_behind(struct keeper *keeper)
{
	if (!keeper_records_are_many(keeper))
		return false;
	keeper_records_flush(keeper);
	return keeper_records_are_many(keeper);
}

enum step backlog_step(struct conn *conn, enum lane_event event)
{
	struct edge *edge = conn->edge;
	struct backlog *backlog = &edge->backlog;

	if (!is_behind(edge->keeper)) {
		backlog->is_long = false;
		if (event == EV_WAKE || !backlog->is_timed)
			return STEP_NEXT;
	} else if (!is_worth_waiting(backlog,
				     io_loop_now_ms(edge->keeper->loop))) {
		return refuse(conn);
	}
	/* The list of connections has those that wait in their order. */
	if (event == EV_ENTER) {
		DL_DELETE(edge->conns, conn);
		DL_APPEND(edge->conns, conn);
	}
	set_timer(backlog);
	return STEP_STAY;
}
