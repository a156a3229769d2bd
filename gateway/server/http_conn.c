#include "gateway/server/http_conn.h"

#include <unistd.h>

#include "common/log.h"
#include "common/secret.h"
#include "gateway/http/head.h"
#include "gateway/http/write.h"
#include "gateway/server/parts.h"

/* ---- the end ---- */

/* What is not part of the bytes held may be what is left of a body. */
static void wipe_input(struct http_conn *conn)
{
	struct buf *in = io_in(conn->io);

	if (!in->data || conn->request.framing == FRAMING_NONE)
		return;
	secret_wipe(in->data, in->start);
	secret_wipe(in->data + in->end, in->size - in->end);
}

static void forget(struct http_conn *conn)
{
	conn->server->service->forget(conn->owner);
	if (conn->body.data)
		secret_wipe(conn->body.data, conn->body.end);
	buf_release(&conn->body);
	arena_reset(&conn->arena);
}

static void leave(struct http_conn *conn)
{
	const struct http_service *service = conn->server->service;

	conn->state = HTTP_CONN_CLOSED;
	wipe_input(conn);
	if (service->on_close)
		service->on_close(conn->owner);
}

void http_conn_close(struct http_conn *conn)
{
	if (conn->state == HTTP_CONN_CLOSED)
		return;
	leave(conn);
	io_close(conn->io);
}

/* What is queued goes for as long as it is read, unless others wait for its
 * place. */
static void linger(struct http_conn *conn)
{
	if (conn->server->is_full)
		io_close_flushed(conn->io, HTTP_LINGER_MS);
	else
		io_close_read(conn->io, HTTP_STALLED_MS, HTTP_LINGER_MS);
}

static void release(struct http_conn *conn)
{
	forget(conn);
	arena_release(&conn->arena);
	http_server_remove(conn->server, conn);
	conn->server->service->on_released(conn->owner);
}

static void refuse(struct http_conn *conn, unsigned status, const char *why)
{
	conn->server->service->refuse(conn->owner, status, why);
}

/* The same, where nothing that follows can be understood. */
static void refuse_last(struct http_conn *conn, unsigned status,
			const char *why)
{
	conn->request.keep_alive = false;
	refuse(conn, status, why);
}

/* ---- heads ---- */

static void next_request(struct http_conn *conn)
{
	guard_init(&conn->guard, GUARD_REQUEST);
	conn->request = (struct request){.keep_alive = true};
	conn->state = HTTP_CONN_HEAD;
	conn->has_begun = false;
	conn->is_body_over = false;
	conn->is_paused = false;
	/* Some of the last answer may still wait to be sent. */
	conn->out_bytes = io_out_len(conn->io);
	conn->sent_bytes = 0;
	conn->is_stalled = conn->out_bytes > 0;
	io_deadline(conn->io, HTTP_IDLE_MS);
}

static void begin(struct http_conn *conn)
{
	const struct request *request = &conn->request;

	conn->is_body_over =
		request->framing == FRAMING_NONE ||
		(request->framing == FRAMING_LENGTH && request->body_len == 0);
	if (request->form != FORM_ORIGIN)
		refuse_last(conn, 400, "this is no proxy");
	else
		conn->server->service->on_head(conn->owner);
}

/* True: go on, something else may be read now. */
static bool read_head(struct http_conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct bytes proxy_authorization;
	struct http_fault fault;

	switch (head_take_request(&conn->arena, &conn->guard, in,
				  &conn->request, &proxy_authorization,
				  &fault)) {
	case GUARD_MORE:
		if (buf_len(in) > 0 && !conn->has_begun)
			io_deadline(conn->io, HTTP_HEAD_MS);
		conn->has_begun = buf_len(in) > 0;
		return false;
	case GUARD_INVALID:
		refuse_last(conn, constraint_status(fault.constraint),
			    fault.reason);
		return false;
	case GUARD_COMPLETE:
	default:
		begin(conn);
		return true;
	}
}

/* ---- bodies ---- */

static bool may_come(struct http_conn *conn, uint64_t max)
{
	const struct request *request = &conn->request;

	conn->body_max = max;
	body_decoder_init(&conn->decoder, request->framing, request->body_len);
	/* For one without a length nobody waits where none is taken: even who
	 * has no key may send it. */
	if (request->framing == FRAMING_LENGTH ? request->body_len <= max
					       : max > 0 || conn->is_body_over)
		return true;
	refuse(conn, 413, "the body is too large");
	return false;
}

static int invite(struct http_conn *conn)
{
	if (!conn->request.expects_continue || conn->is_body_over ||
	    io_write(conn->io, bytes_str(WRITE_CONTINUE)) == 0)
		return 0;
	http_conn_close(conn);
	return -1;
}

static void serve(struct http_conn *conn)
{
	conn->state = HTTP_CONN_SERVED;
	io_deadline(conn->io, conn->is_body_over ? 0 : HTTP_STALLED_MS);
	conn->server->service->serve(conn->owner);
}

void http_conn_collect(struct http_conn *conn, size_t max)
{
	size_t size = conn->request.framing == FRAMING_LENGTH
			      ? (size_t)conn->request.body_len
			      : max;

	if (!may_come(conn, max))
		return;
	if (conn->is_body_over) {
		serve(conn);
		return;
	}
	/* At once in its whole size: a body that grew would leave copies. */
	buf_init(&conn->body, max);
	if (size > 0 && !buf_reserve(&conn->body, size)) {
		refuse(conn, 503, "no memory");
		return;
	}
	conn->state = HTTP_CONN_BODY;
	io_deadline(conn->io, HTTP_BODY_MS);
	(void)invite(conn);
}

void http_conn_pass(struct http_conn *conn, uint64_t max)
{
	if (!may_come(conn, max) || invite(conn) < 0)
		return;
	serve(conn);
	if (conn->is_body_over && conn->state == HTTP_CONN_SERVED)
		conn->server->service->on_complete(conn->owner);
}

/* Pieces live in a copy: who gets one may end the connection, and what it is
 * read from with it. */
static void hand_on(struct http_conn *conn, struct bytes piece, size_t taken)
{
	uint8_t block[HTTP_PIECE_MAX];

	if (piece.len > 0)
		memcpy(block, piece.data, piece.len);
	buf_consume(io_in(conn->io), taken);
	if (piece.len > 0)
		conn->server->service->on_piece(conn->owner,
						bytes_from(block, piece.len));
}

static void on_body_end(struct http_conn *conn)
{
	conn->is_body_over = true;
	if (conn->state == HTTP_CONN_BODY) {
		serve(conn);
		return;
	}
	if (conn->state == HTTP_CONN_SERVED)
		io_deadline(conn->io, 0);
	conn->server->service->on_complete(conn->owner);
}

/* False: the request is answered, which ends the connection while a body is
 * not over. */
static bool take(struct http_conn *conn, struct bytes payload, size_t taken)
{
	if (conn->decoder.total > conn->body_max ||
	    (conn->state == HTTP_CONN_BODY &&
	     buf_add(&conn->body, payload) < 0)) {
		refuse(conn, 413, "the body is too large");
		return false;
	}
	if (conn->state == HTTP_CONN_BODY)
		buf_consume(io_in(conn->io), taken);
	else
		hand_on(conn, payload, taken);
	return conn->state != HTTP_CONN_CLOSED;
}

/* One span of payload. True: go on. */
static bool read_body(struct http_conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct bytes input = bytes_slice(buf_view(in), 0, HTTP_PIECE_MAX);
	struct bytes rest = input, payload;
	enum body_result result = body_decode(&conn->decoder, &rest, &payload);
	size_t taken = input.len - rest.len;

	if (result == BODY_INVALID) {
		refuse_last(conn, 400, conn->decoder.reason);
		return false;
	}
	if (!take(conn, payload, taken))
		return false;
	if (result == BODY_END) {
		on_body_end(conn);
		return true;
	}
	if (conn->state == HTTP_CONN_SERVED && payload.len > 0)
		io_deadline(conn->io, conn->is_paused ? 0 : HTTP_STALLED_MS);
	return buf_len(in) > 0 && taken > 0;
}

static bool read_raw(struct http_conn *conn)
{
	struct bytes piece =
		bytes_slice(buf_view(io_in(conn->io)), 0, HTTP_PIECE_MAX);

	if (piece.len == 0 && conn->has_ended) {
		conn->has_ended = false;
		conn->server->service->on_complete(conn->owner);
		return false;
	}
	if (conn->is_paused || piece.len == 0)
		return false;
	hand_on(conn, piece, piece.len);
	return true;
}

/* ---- requests, one after the other ---- */

static bool turn_once(struct http_conn *conn)
{
	switch (conn->state) {
	case HTTP_CONN_HEAD:
		/* Who does not read answers is not asked for more. */
		return !io_is_full(conn->io) && read_head(conn);
	case HTTP_CONN_BODY:
	case HTTP_CONN_SERVED:
	case HTTP_CONN_STREAM:
		return !conn->is_body_over && !conn->is_paused &&
		       read_body(conn);
	case HTTP_CONN_RAW:
		return read_raw(conn);
	case HTTP_CONN_CLOSED:
	default:
		return false;
	}
}

static void turn(struct http_conn *conn)
{
	if (conn->is_turning)
		return;
	conn->is_turning = true;
	while (turn_once(conn))
		;
	conn->is_turning = false;
}

void http_conn_done(struct http_conn *conn)
{
	if (conn->state == HTTP_CONN_CLOSED)
		return;
	if (!conn->request.keep_alive || !conn->is_body_over) {
		leave(conn);
		forget(conn);
		linger(conn);
		return;
	}
	wipe_input(conn);
	forget(conn);
	next_request(conn);
	http_server_requeue(conn->server, conn);
	turn(conn);
}

void http_conn_pause(struct http_conn *conn, bool is_paused)
{
	if (conn->is_paused == is_paused || conn->state == HTTP_CONN_CLOSED)
		return;
	conn->is_paused = is_paused;
	if (conn->state == HTTP_CONN_SERVED && !conn->is_body_over)
		io_deadline(conn->io, is_paused ? 0 : HTTP_STALLED_MS);
	if (!is_paused)
		turn(conn);
}

/* ---- events ---- */

static void on_drained(struct http_conn *conn)
{
	const struct http_service *service = conn->server->service;

	if (conn->state == HTTP_CONN_HEAD) {
		if (!conn->has_begun)
			io_deadline(conn->io, HTTP_IDLE_MS);
		turn(conn);
		return;
	}
	if (conn->state != HTTP_CONN_STREAM && conn->state != HTTP_CONN_RAW)
		return;
	conn->is_stalled = false;
	io_deadline(conn->io, 0);
	if (service->on_room)
		service->on_room(conn->owner);
}

/* Its last answer was read, long ago. */
static bool is_idle(const struct http_conn *conn)
{
	return conn->state == HTTP_CONN_HEAD && !conn->is_stalled;
}

static void on_timeout(struct http_conn *conn)
{
	bool is_reading = conn->state == HTTP_CONN_BODY ||
			  conn->state == HTTP_CONN_SERVED ||
			  (conn->state == HTTP_CONN_HEAD && conn->has_begun);

	if (is_reading)
		refuse_last(conn, 408, "the request took too long");
	else if (!http_conn_is_read(conn) || is_idle(conn))
		http_conn_close(conn);
}

/* Who ends its side does not wait for what is not answered yet; of another
 * protocol that is its own business. */
static void on_eof(struct http_conn *conn)
{
	if (conn->state == HTTP_CONN_HEAD) {
		leave(conn);
		linger(conn);
	} else if (conn->state == HTTP_CONN_RAW) {
		/* What is still held back comes before it. */
		conn->has_ended = true;
		turn(conn);
	} else {
		http_conn_close(conn);
	}
}

static void on_hello(struct http_conn *conn)
{
	const struct http_service *service = conn->server->service;

	if (!service->on_hello || service->on_hello(conn->owner) < 0)
		http_conn_close(conn);
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct http_conn *conn = owner;

	if (event == IO_RELEASED) {
		release(conn);
		return;
	}
	if (conn->state == HTTP_CONN_CLOSED)
		return;
	switch (event) {
	case IO_DATA:
		turn(conn);
		break;
	case IO_DRAINED:
		on_drained(conn);
		break;
	case IO_TIMEOUT:
		on_timeout(conn);
		break;
	case IO_FAILED:
		log_debug("client: %s", io_error(io)->text);
		http_conn_close(conn);
		break;
	case IO_EOF:
		on_eof(conn);
		break;
	case IO_TLS_HELLO:
		on_hello(conn);
		break;
	case IO_TLS_READY:
		io_deadline(io, HTTP_IDLE_MS);
		turn(conn);
		break;
	case IO_RELEASED:
	case IO_EVENT_MAX:
	default:
		break;
	}
}

/* ---- the beginning ---- */

int http_conn_open(struct http_conn *conn, struct http_server *server, int fd,
		   void *owner)
{
	const struct http_service *service = server->service;
	const struct io_limits limits = {
		.in_max = 64 * 1024,
		.out_high = HTTP_OUT_HIGH,
		.out_max = service->answer_max + 64 * 1024,
	};

	*conn = (struct http_conn){.server = server, .owner = owner};
	conn->io = io_new(server->loop, fd, &limits, on_event, conn);
	if (!conn->io)
		return -1;
	arena_init(&conn->arena, HEAD_ARENA_BYTES + service->arena_max);
	buf_init(&conn->body, 0);
	http_server_add(server, conn);
	next_request(conn);
	io_read_start(conn->io);
	return 0;
}
