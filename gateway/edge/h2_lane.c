/*
 * A client that speaks HTTP/2: its connection waits in one state while each
 * of its streams is a connection of its own, with the target that was decided
 * for all of them, that starts at the head of a request.
 */
#include "gateway/edge/h2_lane.h"

#include "common/log.h"

static const struct h2_stream_limits stream_limits = {
	.wide = {H2_CLIENT_WINDOW, H2_BEHIND_OUT_HIGH, CONN_OUT_MAX},
	.narrow = {H2_NARROW_BEHIND_IN_MAX, H2_NARROW_BEHIND_OUT_HIGH,
		   CONN_OUT_MAX},
};

static int on_stream(void *owner, struct io *io, bool is_wide,
		     const struct http_fault *fault)
{
	const struct conn *outer = owner;
	struct conn *conn = conn_new(outer->edge, io);

	if (!conn)
		return -1;
	conn->is_outside = outer->is_outside;
	conn->errand->target = outer->errand->target;
	conn->errand->target_verdict = outer->errand->target_verdict;
	conn->has_target = conn->is_inner = conn->is_stream = true;
	conn->is_wide = is_wide;
	if (fault)
		conn->stream_fault = *fault;
	lane_begin_request(conn);
	return 0;
}

static void on_fault(void *owner, const struct http_fault *fault)
{
	log_debug("client: %s", fault->reason);
	conn_record_fault(owner, fault);
}

static void on_moved(void *owner)
{
	lane_deliver(owner, EV_PEER_DATA);
}

static enum step begin(struct conn *conn)
{
	static const struct h2_events events = {
		.on_stream = on_stream,
		.on_fault = on_fault,
		.on_moved = on_moved,
	};

	conn->h2 = h2_server_new(conn->edge->keeper->loop, conn->client,
				 &stream_limits, &events, conn);
	conn->h2_busy_ms = io_loop_now_ms(conn->edge->keeper->loop);
	return conn->h2 ? STEP_STAY : STEP_NEXT;
}

/* Frames alone do not keep a connection open: streams do. */
static void set_deadline(struct conn *conn)
{
	uint64_t now = io_loop_now_ms(conn->edge->keeper->loop);
	uint64_t idle = now - conn->h2_busy_ms;
	uint64_t most = conn->law->policy->network_limits.idle_ms;

	if (h2_session_streams(conn->h2) > 0)
		conn->h2_busy_ms = now;
	else
		io_deadline(conn->client,
			    idle < most ? (unsigned)(most - idle) : 1);
}

enum step h2_step(struct conn *conn, enum lane_event event)
{
	if (event == EV_ENTER) {
		conn_forget_opening(conn);
		if (begin(conn) != STEP_STAY)
			return STEP_NEXT;
	}
	if (event == EV_EOF)
		return STEP_NEXT;
	if (event == EV_DRAINED)
		h2_session_drained(conn->h2);
	if (event == EV_DATA)
		h2_session_receive(conn->h2);
	if (h2_session_is_over(conn->h2)) {
		h2_release(conn);
		return STEP_OTHER;
	}
	set_deadline(conn);
	return STEP_STAY;
}

void h2_release(struct conn *conn)
{
	if (conn->h2)
		h2_session_free(conn->h2);
	conn->h2 = NULL;
}
