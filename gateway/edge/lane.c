#include "gateway/edge/lane.h"

#include <assert.h>

#include "common/log.h"
#include "gateway/edge/conn.h"

/* Nothing hangs on these: a state that does not care does not list them. */
#define IGNORABLE (EV_BIT(EV_DRAINED) | EV_BIT(EV_UP_DRAINED))

/* Where a state goes when its deadline passes (AT_END: what is queued is sent
 * first). Of the others the client is told, or the connection closed. */
static const enum lane_state_id late[AT_END] = {
	[AT_SILENT] = AT_TARGET,
	[AT_WEBSOCKET] = AT_WEBSOCKET_CLOSE,
	[AT_WEBSOCKET_CLOSE] = AT_END,
};

static const char *const event_names[] = {
#define X(event) #event,
	LANE_EVENTS(X)
#undef X
};

static const struct lane_state *state_of(enum lane_state_id id)
{
	assert(id < AT_END);
	/* Those of most requests first. */
	if (id < AT_TUNNEL_APPROVE)
		return &http_states[id];
	if (id < AT_GIT_BEGIN)
		return &tunnel_states[id];
	if (id < AT_LFS)
		return &git_states[id];
	if (id < AT_FIRST)
		return &lfs_states[id];
	if (id < AT_WEBSOCKET_OPEN)
		return &socks_states[id];
	return &websocket_states[id];
}

static uint32_t deadline_of(const struct conn *conn, enum lane_state_id id)
{
	const struct network_limits *limits =
		&conn->law->policy->network_limits;

	if (id == AT_FIRST || id == AT_HEAD)
		return (uint32_t)limits->idle_ms;
	if (id == AT_TLS)
		return (uint32_t)limits->handshake_ms;
	if ((id == AT_SOCKS || id == AT_PEEK) &&
	    limits->idle_ms < state_of(id)->deadline_ms)
		return (uint32_t)limits->idle_ms;
	return state_of(id)->deadline_ms;
}

/* Reading is on where the state accepts data, and nowhere else. */
static void enter(struct conn *conn, const struct lane_state *state)
{
	io_deadline(conn->client, deadline_of(conn, conn->state));
	if (state->accepts & EV_BIT(EV_DATA))
		io_read_start(conn->client);
	else
		io_read_stop(conn->client);
}

static enum lane_state_id follow(const struct lane_state *state, enum step step)
{
	enum lane_state_id to = AT_END;

	if (step == STEP_NEXT)
		to = state->next;
	else if (step == STEP_OTHER)
		to = state->other;
	else if (step == STEP_DENY)
		to = state->denied;
	assert(to != AT_NONE);
	return to;
}

/* A step that makes other events happen inside it says STAY: what they did
 * to the state stands. */
void lane_deliver(struct conn *conn, enum lane_event event)
{
	while (!conn->is_closed) {
		const struct lane_state *state = state_of(conn->state);
		enum step step;

		if (event != EV_ENTER && !(state->accepts & EV_BIT(event))) {
			if (EV_BIT(event) & IGNORABLE)
				return;
			log_debug("state %s does not take %s", state->name,
				  event_names[event]);
			conn_close(conn);
			return;
		}
		if (event == EV_ENTER)
			enter(conn, state);
		else if (state->deadline_kind == DEADLINE_PROGRESS)
			io_deadline(conn->client, state->deadline_ms);
		step = state->step(conn, event);
		if (step == STEP_STAY || conn->is_closed)
			return;
		conn->state = follow(state, step);
		event = EV_ENTER;
		if (conn->state == AT_END) {
			conn_finish(conn);
			return;
		}
	}
}

void lane_begin(struct conn *conn)
{
	conn->state = AT_ARRIVE;
	lane_deliver(conn, EV_ENTER);
}

void lane_begin_request(struct conn *conn)
{
	conn->state = AT_HEAD;
	lane_deliver(conn, EV_ENTER);
}

/* Does the client hear of a deadline that passes here? */
static bool is_told(enum lane_state_id id)
{
	return id != AT_HEAD && state_of(id)->denied < AT_END;
}

void lane_refuse(struct conn *conn, enum constraint constraint,
		 const char *text)
{
	if (conn->has_replied || !is_told(conn->state)) {
		/* Who cannot be told any more: the record is. */
		if (conn->has_replied && conn->state != AT_LINGER)
			conn_refuse(conn, constraint, "%s", text);
		conn_close(conn);
		return;
	}
	conn_cancel_ask(conn);
	conn_refuse(conn, constraint, "%s", text);
	conn->close_after = true;
	conn->state = state_of(conn->state)->denied;
	lane_deliver(conn, EV_ENTER);
}

void lane_timeout(struct conn *conn)
{
	const struct lane_state *state = state_of(conn->state);
	char text[64];

	log_debug("deadline of state %s passed", state->name);
	if (late[conn->state] == AT_END) {
		conn_finish(conn);
		return;
	}
	if (late[conn->state]) {
		conn->state = late[conn->state];
		lane_deliver(conn, EV_ENTER);
		return;
	}
	(void)snprintf(text, sizeof(text),
		       state->deadline_kind == DEADLINE_FIXED
			       ? "this was not done after %u s"
			       : "nothing happened for %u s",
		       deadline_of(conn, conn->state) / 1000);
	lane_refuse(conn, CONSTRAINT_timeout, text);
}

static const char *name_of(enum lane_state_id id)
{
	return id == AT_END ? "end" : state_of(id)->name;
}

static void dump_edge(FILE *out, enum lane_state_id from, enum lane_state_id to,
		      const char *label)
{
	if (to != AT_NONE)
		(void)fprintf(out, "\t%s -> %s [label=\"%s\"];\n",
			      name_of(from), name_of(to), label);
}

static enum lane_state_id late_of(enum lane_state_id id)
{
	if (late[id])
		return late[id];
	return is_told(id) ? state_of(id)->denied : AT_END;
}

static void dump_state(FILE *out, enum lane_state_id id)
{
	const struct lane_state *state = state_of(id);

	(void)fprintf(out, "\t%s [label=\"%s\\n%g s%s\"];\n", state->name,
		      state->name, state->deadline_ms / 1000.0,
		      state->deadline_kind == DEADLINE_PROGRESS
			      ? " without an event"
			      : "");
	dump_edge(out, id, state->next, "next");
	dump_edge(out, id, state->other, "other");
	dump_edge(out, id, state->denied, "deny");
	(void)fprintf(out, "\t%s -> %s [style=dashed];\n", state->name,
		      name_of(late_of(id)));
}

void lanes_dump(FILE *out)
{
	(void)fputs("digraph lanes {\n\tend [shape=doublecircle];\n", out);
	for (enum lane_state_id id = AT_ARRIVE; id < AT_END; id++)
		dump_state(out, id);
	(void)fputs("}\n", out);
}
