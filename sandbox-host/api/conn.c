#include "sandbox-host/api/conn.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/secret.h"
#include "gateway/http/head.h"

static const struct io_limits limits = {
	.in_max = 64 * 1024,
	.out_high = EXCHANGE_OUT_HIGH,
	.out_max = EXCHANGE_ANSWER_MAX + 64 * 1024,
};

/* ---- the end ---- */

static void forget_request(struct conn *conn)
{
	struct exchange *exchange = &conn->exchange;
	exchange_fn *on_end = exchange->on_end;

	asked_forget(exchange);
	exchange->on_end = NULL;
	if (on_end)
		on_end(exchange);
	*exchange = (struct exchange){0};
	if (conn->body.data)
		secret_wipe(conn->body.data, conn->body.size);
	buf_release(&conn->body);
	arena_reset(&conn->arena);
}

void conn_close(struct conn *conn)
{
	if (conn->state == CONN_CLOSED)
		return;
	conn->state = CONN_CLOSED;
	io_close(conn->io);
}

static void conn_free(struct conn *conn)
{
	struct api *api = conn->api;

	forget_request(conn);
	arena_release(&conn->arena);
	DL_DELETE(api->conns, conn);
	api->conn_count--;
	if (api->is_full) {
		api->is_full = false;
		for (size_t i = 0; i < api->listener_count; i++)
			io_listener_pause(api->listeners[i], false);
	}
	free(conn);
}

/* ---- requests, one after the other ---- */

static void next_request(struct conn *conn)
{
	guard_init(&conn->guard, GUARD_REQUEST);
	conn->request = (struct request){.keep_alive = true};
	conn->state = CONN_HEAD;
	conn->serial++;
	conn->has_begun = false;
	conn->is_body_over = false;
	conn->is_body_paused = false;
	conn->is_head_only = false;
	conn->is_stalled = false;
	conn->out_bytes = conn->sent_bytes = 0;
	conn->body_bytes = 0;
	conn->exchange = (struct exchange){
		.api = conn->api,
		.conn = conn,
		.arena = &conn->arena,
		.fields = &conn->request.fields,
	};
	io_deadline(conn->io, CONN_IDLE_MS);
	/* Who waits longest comes first. */
	DL_DELETE(conn->api->conns, conn);
	DL_APPEND(conn->api->conns, conn);
}

static void refuse_fault(struct conn *conn, const struct http_fault *fault)
{
	unsigned status = constraint_status(fault->constraint);

	conn->request.keep_alive = false;
	conn_refuse(conn, status >= 400 ? status : 400, "INVALID_REQUEST",
		    fault->reason);
}

/* True: go on, something else may be read now. */
static bool read_head(struct conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct bytes proxy_authorization;
	struct http_fault fault;

	switch (head_take_request(&conn->arena, &conn->guard, in,
				  &conn->request, &proxy_authorization,
				  &fault)) {
	case GUARD_MORE:
		if (buf_len(in) > 0 && !conn->has_begun)
			io_deadline(conn->io, CONN_HEAD_MS);
		conn->has_begun = buf_len(in) > 0;
		return false;
	case GUARD_INVALID:
		refuse_fault(conn, &fault);
		return false;
	case GUARD_COMPLETE:
	default:
		break;
	}
	conn_begin(conn);
	return true;
}

static bool read_raw(struct conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct exchange *exchange = &conn->exchange;
	size_t len = buf_len(in);
	uint8_t block[16 * 1024];

	if (len == 0 && conn->has_ended) {
		conn->has_ended = false;
		exchange->on_complete(exchange);
		return false;
	}
	if (conn->is_body_paused || len == 0 || !exchange->on_piece)
		return false;
	if (len > sizeof(block))
		len = sizeof(block);
	/* The handler may end the connection, and its buffer with it. */
	memcpy(block, buf_view(in).data, len);
	buf_consume(in, len);
	exchange->on_piece(exchange, bytes_from(block, len));
	return true;
}

static bool turn_once(struct conn *conn)
{
	switch (conn->state) {
	case CONN_HEAD:
		/* Who does not read answers is not asked for more. */
		return !io_is_full(conn->io) && read_head(conn);
	case CONN_BODY:
	case CONN_SERVED:
	case CONN_STREAM:
		return !conn->is_body_over && !conn->is_body_paused &&
		       conn_read_body(conn);
	case CONN_RAW:
		return read_raw(conn);
	case CONN_CLOSED:
	default:
		return false;
	}
}

void conn_turn(struct conn *conn)
{
	if (conn->is_turning)
		return;
	conn->is_turning = true;
	while (turn_once(conn))
		;
	conn->is_turning = false;
}

void conn_request_done(struct conn *conn)
{
	bool keep_alive = conn->request.keep_alive && conn->is_body_over;

	if (conn->state == CONN_CLOSED)
		return;
	if (!keep_alive) {
		conn->state = CONN_CLOSED;
		forget_request(conn);
		io_close_flushed(conn->io, CONN_LINGER_MS);
		return;
	}
	forget_request(conn);
	next_request(conn);
	conn_turn(conn);
}

/* ---- events ---- */

static void on_drained(struct conn *conn)
{
	struct exchange *exchange = &conn->exchange;

	if (conn->state == CONN_HEAD) {
		conn_turn(conn);
		return;
	}
	if (conn->state != CONN_STREAM && conn->state != CONN_RAW)
		return;
	conn->is_stalled = false;
	io_deadline(conn->io, 0);
	if (exchange->on_room)
		exchange->on_room(exchange);
}

static void on_timeout(struct conn *conn)
{
	bool is_reading = conn->state == CONN_BODY ||
			  conn->state == CONN_SERVED ||
			  (conn->state == CONN_HEAD && conn->has_begun);

	if (is_reading)
		conn_refuse(conn, 408, "REQUEST_TIMEOUT",
			    "the request took too long");
	else if (!conn_is_read(conn))
		conn_close(conn);
}

/* Who ends its side does not wait for what is not answered yet; of another
 * protocol that is its own business. */
static void on_eof(struct conn *conn)
{
	struct exchange *exchange = &conn->exchange;

	if (conn->state == CONN_HEAD) {
		conn->state = CONN_CLOSED;
		io_close_flushed(conn->io, CONN_LINGER_MS);
	} else if (conn->state == CONN_RAW && exchange->on_complete) {
		/* What is still held back comes before it. */
		conn->has_ended = true;
		conn_turn(conn);
	} else {
		conn_close(conn);
	}
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct conn *conn = owner;
	struct err err;

	if (event == IO_RELEASED) {
		conn_free(conn);
		return;
	}
	if (conn->state == CONN_CLOSED)
		return;
	switch (event) {
	case IO_DATA:
		conn_turn(conn);
		break;
	case IO_DRAINED:
		on_drained(conn);
		break;
	case IO_TIMEOUT:
		on_timeout(conn);
		break;
	case IO_FAILED:
		log_debug("client: %s", io_error(io)->text);
		conn_close(conn);
		break;
	case IO_EOF:
		on_eof(conn);
		break;
	case IO_TLS_HELLO:
		if (api_tls_show(conn->api, io, &err) < 0)
			conn_close(conn);
		break;
	case IO_TLS_READY:
		io_deadline(io, CONN_IDLE_MS);
		conn_turn(conn);
		break;
	case IO_RELEASED:
	case IO_EVENT_MAX:
	default:
		break;
	}
}

/* ---- the beginning ---- */

/* Who waits for a head longest makes room for who comes. */
static void make_room(struct api *api)
{
	struct conn *conn;

	DL_FOREACH(api->conns, conn)
	if (conn->state == CONN_HEAD) {
		conn_close(conn);
		return;
	}
	api->is_full = true;
	for (size_t i = 0; i < api->listener_count; i++)
		io_listener_pause(api->listeners[i], true);
}

/* A handshake has the time of a head. */
static int begin_tls(struct conn *conn)
{
	struct err err;

	io_deadline(conn->io, CONN_HEAD_MS);
	return api_tls_begin(conn->api, conn->io, &err);
}

void conn_accept(struct api *api, int fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		(void)close(fd);
		return;
	}
	conn->api = api;
	arena_init(&conn->arena, HEAD_ARENA_BYTES + EXCHANGE_ARENA_MAX);
	buf_init(&conn->body, 0);
	conn->io = io_new(api->loop, fd, &limits, on_event, conn);
	if (!conn->io) {
		free(conn);
		return;
	}
	if (++api->conn_count >= api->conns_max)
		make_room(api);
	DL_APPEND(api->conns, conn);
	next_request(conn);
	if (api->tls && begin_tls(conn) < 0) {
		conn_close(conn);
		return;
	}
	io_read_start(conn->io);
}
