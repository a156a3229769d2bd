#include "gateway/edge/turns.h"

#include <utlist.h>

#include "gateway/edge/conn.h"
#include "gateway/edge/opening.h"

static void hold(struct turns *turns, struct turn *turn, uint64_t now_ms)
{
	turn->is_held = true;
	turn->until_ms = now_ms + TURN_MS;
	DL_APPEND(turns->held, turn);
	turns->held_count++;
}

static void leave(struct turns *turns, struct turn *turn)
{
	if (turn->is_held) {
		DL_DELETE(turns->held, turn);
		turns->held_count--;
	} else {
		DL_DELETE(turns->awaited, turn);
	}
	turn->conn = NULL;
}

/* Whoever waits is woken when the oldest has had its time. */
static void set_timer(struct edge *edge)
{
	struct turns *turns = &edge->turns;
	uint64_t now_ms = io_loop_now_ms(edge->keeper->loop);
	uint64_t until_ms = now_ms + 1;

	if (turns->held_count >= TURNS_MAX && turns->held->until_ms > now_ms)
		until_ms = turns->held->until_ms;
	io_timer_set(turns->timer,
		     turns->awaited ? (unsigned)(until_ms - now_ms) : 0);
}

/* A loop, not a call for each: a turn may end while it is given. */
static void give(void *owner)
{
	struct edge *edge = owner;
	struct turns *turns = &edge->turns;

	turns->is_due = false;
	while (turns->awaited && turns->held_count < TURNS_MAX) {
		struct turn *turn = turns->awaited;

		DL_DELETE(turns->awaited, turn);
		hold(turns, turn, io_loop_now_ms(edge->keeper->loop));
		lane_deliver(turn->conn, EV_WAKE);
	}
	set_timer(edge);
}

static void on_late(void *owner)
{
	struct edge *edge = owner;
	struct turns *turns = &edge->turns;
	uint64_t now_ms = io_loop_now_ms(edge->keeper->loop);

	while (turns->held && turns->held->until_ms <= now_ms)
		leave(turns, turns->held);
	give(edge);
}

int turns_init(struct edge *edge, struct err *err)
{
	edge->turns = (struct turns){0};
	edge->turns.timer = io_timer_new(edge->keeper->loop, on_late, edge);
	if (!edge->turns.timer)
		return err_set(err, ERR_SYSTEM, "start a timer");
	return 0;
}

enum step turn_step(struct conn *conn, enum lane_event event)
{
	struct edge *edge = conn->edge;
	struct turns *turns = &edge->turns;
	struct turn *turn = &conn->opening->turn;

	if (event == EV_WAKE)
		return STEP_NEXT;
	turn->conn = conn;
	if (!turns->awaited && turns->held_count < TURNS_MAX) {
		hold(turns, turn, io_loop_now_ms(edge->keeper->loop));
		return STEP_NEXT;
	}
	DL_APPEND(turns->awaited, turn);
	set_timer(edge);
	return STEP_STAY;
}

void turn_end(struct conn *conn)
{
	struct edge *edge = conn->edge;
	struct turns *turns = &edge->turns;

	if (!conn->opening || !conn->opening->turn.conn)
		return;
	leave(turns, &conn->opening->turn);
	if (!turns->awaited || turns->is_due)
		return;
	turns->is_due = io_loop_defer(edge->keeper->loop, give, edge) == 0;
	if (!turns->is_due)
		set_timer(edge);
}
