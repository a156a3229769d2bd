#include "gateway/edge/conn.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/dense.h"
#include "common/log.h"
#include "gateway/edge/approval.h"
#include "gateway/edge/git_lane.h"
#include "gateway/edge/h2_lane.h"
#include "gateway/edge/internal.h"
#include "gateway/edge/lfs_lane.h"
#include "gateway/edge/look.h"
#include "gateway/edge/opening.h"
#include "gateway/edge/stray.h"
#include "gateway/edge/verify.h"
#include "gateway/edge/websocket_lane.h"
#include "gateway/http/trailers.h"
#include "gateway/upstream/dial.h"

static const struct io_limits limits = {
	.in_max = CONN_IN_MAX,
	.out_high = CONN_OUT_HIGH,
	.out_max = CONN_OUT_MAX,
};

static struct dense conns = {.size = sizeof(struct conn)};

/* ---- the end ---- */

static void conn_free(struct conn *conn)
{
	conn_forget_opening(conn);
	arena_release(&conn->arena);
	free(conn->errand);
	rest_free(conn->rest);
	law_drop(conn->law);
	DL_DELETE(conn->edge->conns, conn);
	conn->edge->conn_count--;
	dense_give(&conns, conn);
}

void conn_forget_opening(struct conn *conn)
{
	if (!conn->opening)
		return;
	hello_release(&conn->opening->hello);
	free(conn->opening);
	conn->opening = NULL;
}

static void let_go(struct conn *conn)
{
	conn->is_closed = true;
	turn_end(conn);
	conn_record_end(conn);
	conn_cancel_ask(conn);
	h2_release(conn);
	if (conn->dial) {
		dial_cancel(conn->dial);
		conn->dial = NULL;
	}
	conn_put_upstream(conn);
	git_work_release(conn);
	lfs_work_release(conn);
	websocket_release(conn);
	look_release(conn);
	stray_release(conn);
	verify_release(conn);
	approval_release(conn);
	internal_release(conn);
}

void conn_close(struct conn *conn)
{
	bool is_h2 = conn->h2;

	if (conn->is_closed)
		return;
	let_go(conn);
	if (conn->peer)
		io_close(conn->peer);
	/* The last words of HTTP/2 go, if they can go now. */
	if (is_h2)
		io_close_flushed(conn->client, 0);
	else
		io_close(conn->client);
}

void conn_finish(struct conn *conn)
{
	if (conn->is_closed)
		return;
	let_go(conn);
	if (conn->peer)
		io_close_flushed(conn->peer, TUNNEL_FLUSH_MS);
	io_end(conn->client);
	io_close_flushed(conn->client, DEADLINE_LINGER_MS);
}

/* What the session's end cuts off: its record says so. */
static void tell_end(struct edge *edge)
{
	enum constraint over = edge_over(edge);
	struct conn *conn;

	DL_FOREACH(edge->conns, conn)
	if (!conn->is_closed && conn->on_record == RECORD_IS_OPEN &&
	    conn->refusal.constraint == CONSTRAINT_none)
		conn_refuse(conn, over, "%s", constraint_text(over));
}

void conns_close(struct edge *edge)
{
	struct conn *conn, *next;

	tell_end(edge);
	DL_FOREACH_SAFE(edge->conns, conn, next)
	{
		conn_close(conn);
		/* Also what only sends its last bytes. */
		io_close(conn->client);
	}
}

/* ---- events of the client ---- */

static void on_client(struct io *io, enum io_event event, void *owner)
{
	struct conn *conn = owner;

	if (event == IO_RELEASED) {
		conn_free(conn);
		return;
	}
	if (conn->is_closed)
		return;
	switch (event) {
	case IO_DATA:
		lane_deliver(conn, EV_DATA);
		break;
	case IO_EOF:
		conn->is_eof = true;
		lane_deliver(conn, EV_EOF);
		break;
	case IO_DRAINED:
		lane_deliver(conn, EV_DRAINED);
		break;
	case IO_TLS_HELLO:
		lane_deliver(conn, EV_TLS_HELLO);
		break;
	case IO_TLS_READY:
		lane_deliver(conn, EV_TLS_READY);
		break;
	case IO_TIMEOUT:
		lane_timeout(conn);
		break;
	case IO_FAILED:
		log_debug("client: %s", io_error(io)->text);
		if (conn->state == AT_TLS)
			conn_record_alert(conn, io_error(io));
		conn_close(conn);
		break;
	case IO_RELEASED:
	case IO_EVENT_MAX:
	default:
		break;
	}
}

/* ---- the beginning ---- */

struct conn *conn_new(struct edge *edge, struct io *client)
{
	struct conn *conn;

	if (edge->conn_count >= edge->conns_max || !edge->law) {
		if (edge->law)
			conn_record_crowd(edge);
		return NULL;
	}
	conn = dense_take(&conns, sizeof(*conn));
	if (conn)
		conn->errand = calloc(1, sizeof(*conn->errand));
	if (!conn || !conn->errand) {
		dense_give(&conns, conn);
		return NULL;
	}
	conn->edge = edge;
	conn->law = law_use(edge->law);
	arena_init(&conn->arena, CONN_ARENA_MAX);
	conn->client = client;
	io_set_owner(client, on_client, conn);
	DL_APPEND(edge->conns, conn);
	edge->conn_count++;
	return conn;
}

static void no_owner(struct io *io, enum io_event event, void *owner)
{
	(void)io;
	(void)event;
	(void)owner;
}

/* fd is taken. */
static struct conn *conn_on(struct edge *edge, int fd)
{
	struct io *client =
		io_new(edge->keeper->loop, fd, &limits, no_owner, NULL);
	struct conn *conn = client ? conn_new(edge, client) : NULL;

	if (client && !conn)
		io_close(client);
	if (!conn)
		return NULL;
	conn->opening = calloc(1, sizeof(*conn->opening));
	if (!conn->opening) {
		conn_close(conn);
		return NULL;
	}
	hello_init(&conn->opening->hello);
	return conn;
}

void conn_accept(int fd, const struct sockaddr_storage *peer,
		 const struct sockaddr_storage *original, bool was_redirected,
		 void *owner)
{
	struct edge *edge = owner;
	struct conn *conn = conn_on(edge, fd);
	struct bytes name;

	(void)peer;
	if (!conn)
		return;
	conn_reset_request(conn);
	if (arrival_from(original, was_redirected, &conn->opening->arrival) <
	    0) {
		conn_close(conn);
		return;
	}
	if (conn->opening->arrival.kind == ARRIVAL_REDIRECTED) {
		name = names_behind(edge->names,
				    (const struct sockaddr *)original,
				    io_loop_now_ms(edge->keeper->loop));
		if (name.len)
			arrival_set_name(&conn->opening->arrival, name);
	}
	lane_begin(conn);
}

void conn_take(struct edge *edge, int fd, struct bytes read)
{
	struct conn *conn = conn_on(edge, fd);

	if (!conn)
		return;
	conn->is_outside = true;
	conn->opening->socks.needs_password = true;
	conn->opening->arrival.kind = ARRIVAL_PROXY;
	conn_reset_request(conn);
	if (buf_add(io_in(conn->client), read) < 0)
		conn_close(conn);
	else
		lane_begin(conn);
}

static const struct network_limits *limits_of(const struct conn *conn)
{
	return &conn->law->policy->network_limits;
}

void conn_reset_request(struct conn *conn)
{
	conn_record_end(conn);
	conn_put_upstream(conn);
	git_work_release(conn);
	lfs_work_release(conn);
	websocket_release(conn);
	look_release(conn);
	stray_release(conn);
	verify_release(conn);
	rate_end(conn);
	/* What was waited for is over, but for a certificate: it is missing
	 * still. */
	if (conn->errand->target_verdict.constraint != CONSTRAINT_limit_rate)
		conn->rate.retry_ms = 0;
	approval_release(conn);
	internal_release(conn);
	arena_release(&conn->arena);
	conn_renew_law(conn);
	guard_init(&conn->errand->guard, GUARD_REQUEST);
	conn->errand->guard.bytes_max = limits_of(conn)->header_bytes;
	conn->errand->guard.fields_max = limits_of(conn)->fields;
	memset(&conn->errand->request, 0, sizeof(conn->errand->request));
	/* A proxy client names another with each request, or none. */
	if (!conn->has_target)
		memset(&conn->errand->target, 0, sizeof(conn->errand->target));
	memset(&conn->verdict, 0, sizeof(conn->verdict));
	memset(&conn->refusal, 0, sizeof(conn->refusal));
	conn->on_record = RECORD_IS_DUE;
	conn->reply_status = 0;
	conn->request_id[0] = '\0';
	conn->body = NULL;
	conn->body_done = false;
	conn->bytes_up = conn->bytes_down = 0;
	conn->is_ready = conn->has_replied = conn->close_after = false;
	conn->filter_up = conn->filter_down = NULL;
	conn->keeps_length = false;
	conn->check_reply = NULL;
}

/* ---- upstream ---- */

static void on_upstream(struct upstream *up, enum upstream_event event,
			void *owner)
{
	static const enum lane_event events[] = {
		[UPSTREAM_READY] = EV_UP_READY,
		[UPSTREAM_HEAD] = EV_UP_HEAD,
		[UPSTREAM_BODY] = EV_UP_BODY,
		[UPSTREAM_END] = EV_UP_END,
		[UPSTREAM_DRAINED] = EV_UP_DRAINED,
		[UPSTREAM_FAILED] = EV_UP_FAILED,
	};

	(void)up;
	lane_deliver(owner, events[event]);
}

int conn_get_upstream(struct conn *conn, struct bytes binding)
{
	struct err err;

	conn_put_upstream(conn);
	conn->is_ready = false;
	if (conn->is_stream && binding.len && !conn->websocket && !conn->git &&
	    request_wants_trailers(&conn->errand->request))
		conn->up = upstream_get_leg_h2(&conn->edge->pool,
					       &conn->errand->target, binding,
					       on_upstream, conn, &err);
	else if (conn->is_stream && binding.len == 0 && !conn->websocket)
		conn->up = upstream_get_h2(&conn->edge->pool,
					   &conn->errand->target, conn->is_wide,
					   on_upstream, conn, &err);
	else
		conn->up =
			upstream_get(&conn->edge->pool, &conn->errand->target,
				     binding, on_upstream, conn, &err);
	if (conn->up)
		return 0;
	conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
	return -1;
}

void conn_put_upstream(struct conn *conn)
{
	if (!conn->up)
		return;
	upstream_put(conn->up);
	conn->up = NULL;
}
