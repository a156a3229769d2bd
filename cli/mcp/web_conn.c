#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "cli/mcp/web_parts.h"
#include "common/cleanup.h"
#include "gateway/http/write.h"

static const struct io_limits limits = {
	.in_max = 64 * 1024,
	.out_high = 256 * 1024,
	.out_max = WEB_ANSWER_MAX + 64 * 1024,
};

/* ---- the end ---- */

static void forget_request(struct web_conn *conn)
{
	web_session_leave(conn);
	buf_release(&conn->body);
	arena_reset(&conn->arena);
}

void web_conn_close(struct web_conn *conn)
{
	if (conn->state == WEB_CLOSED)
		return;
	conn->state = WEB_CLOSED;
	web_session_leave(conn);
	io_close(conn->io);
}

static void conn_free(struct web_conn *conn)
{
	struct web *web = conn->web;

	forget_request(conn);
	arena_release(&conn->arena);
	DL_DELETE(web->conns, conn);
	web->conn_count--;
	if (web->is_full) {
		web->is_full = false;
		io_listener_pause(web->listener, false);
	}
	free(conn);
}

/* ---- requests, one after the other ---- */

static void next_request(struct web_conn *conn)
{
	guard_init(&conn->guard, GUARD_REQUEST);
	conn->request = (struct request){.keep_alive = true};
	conn->state = WEB_HEAD;
	conn->has_begun = false;
	conn->is_body_over = false;
	io_deadline(conn->io, WEB_IDLE_MS);
	/* Who waits longest comes first. */
	DL_DELETE(conn->web->conns, conn);
	DL_APPEND(conn->web->conns, conn);
}

static void refuse_fault(struct web_conn *conn, const char *reason)
{
	conn->request.keep_alive = false;
	web_conn_refuse(conn, 400, MESSAGE_INVALID_REQUEST, "%s", reason);
}

/* True: something else may be read now. */
static bool read_head(struct web_conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct bytes proxy_authorization;
	struct http_fault fault;

	switch (head_take_request(&conn->arena, &conn->guard, in,
				  &conn->request, &proxy_authorization,
				  &fault)) {
	case GUARD_MORE:
		if (buf_len(in) > 0 && !conn->has_begun)
			io_deadline(conn->io, WEB_HEAD_MS);
		conn->has_begun = buf_len(in) > 0;
		return false;
	case GUARD_INVALID:
		refuse_fault(conn, fault.reason);
		return false;
	case GUARD_COMPLETE:
	default:
		break;
	}
	conn->is_body_over = conn->request.framing == FRAMING_NONE ||
			     (conn->request.framing == FRAMING_LENGTH &&
			      conn->request.body_len == 0);
	body_decoder_init(&conn->decoder, conn->request.framing,
			  conn->request.body_len);
	buf_init(&conn->body, WEB_BODY_MAX);
	web_begin(conn);
	return true;
}

static bool read_body(struct web_conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct bytes rest = buf_view(in), payload;
	size_t before = rest.len;
	enum body_result result = body_decode(&conn->decoder, &rest, &payload);

	if (result == BODY_INVALID) {
		refuse_fault(conn, conn->decoder.reason);
		return false;
	}
	if (buf_add(&conn->body, payload) < 0) {
		web_conn_refuse(conn, 413, MESSAGE_INVALID_REQUEST,
				"the body is larger than 4 MiB");
		return false;
	}
	buf_consume(in, before - rest.len);
	if (result == BODY_END) {
		conn->is_body_over = true;
		io_deadline(conn->io, 0);
		web_post(conn);
		return true;
	}
	return buf_len(in) > 0 && before > rest.len;
}

static bool turn_once(struct web_conn *conn)
{
	if (conn->state == WEB_HEAD)
		/* Who does not read answers is not asked for more. */
		return !io_is_full(conn->io) && read_head(conn);
	return conn->state == WEB_BODY && read_body(conn);
}

static void turn(struct web_conn *conn)
{
	if (conn->is_turning)
		return;
	conn->is_turning = true;
	while (turn_once(conn))
		;
	conn->is_turning = false;
}

/* The answer is written. */
static void request_done(struct web_conn *conn)
{
	bool keep_alive = conn->request.keep_alive && conn->is_body_over;

	forget_request(conn);
	if (!keep_alive) {
		conn->state = WEB_CLOSED;
		io_close_flushed(conn->io, WEB_LINGER_MS);
		return;
	}
	next_request(conn);
	turn(conn);
}

/* ---- answers ---- */

struct head {
	unsigned status;
	const char *type; /* or NULL */
	enum framing framing;
	uint64_t len;
	const char *session; /* or NULL */
};

static int add_head(struct web_conn *conn, struct buf *out,
		    const struct head *head)
{
	struct field items[5];
	struct response response = {
		.status = head->status,
		.reason = write_reason(head->status),
		.fields = {items, 0, ARRAY_SIZE(items)},
		.framing = head->framing,
		.body_len = head->len,
	};
	struct fields *fields = &response.fields;

	(void)fields_add(fields, bytes_str("Cache-Control"),
			 bytes_str("no-store"));
	if (head->type)
		(void)fields_add(fields, bytes_str("Content-Type"),
				 bytes_str(head->type));
	if (head->session)
		(void)fields_add(fields, bytes_str("Mcp-Session-Id"),
				 bytes_str(head->session));
	if (head->status == 401)
		(void)fields_add(fields, bytes_str("WWW-Authenticate"),
				 bytes_str("Bearer"));
	if (head->status == 405)
		(void)fields_add(fields, bytes_str("Allow"),
				 bytes_str("GET, POST, DELETE"));
	return write_response(out, &response,
			      conn->request.keep_alive && conn->is_body_over);
}

void web_conn_reply(struct web_conn *conn, unsigned status, const char *type,
		    struct bytes body, const char *session)
{
	auto_type(buf_release) struct buf out;
	const struct head head = {
		.status = status,
		.type = type,
		.framing = status == 204 ? FRAMING_NONE : FRAMING_LENGTH,
		.len = body.len,
		.session = session,
	};

	buf_init(&out, HEAD_BYTES_MAX + body.len);
	if (conn->state == WEB_CLOSED)
		return;
	if (add_head(conn, &out, &head) < 0 ||
	    (!bytes_is(conn->request.method, "HEAD") &&
	     buf_add(&out, body) < 0) ||
	    io_write(conn->io, buf_view(&out)) < 0) {
		web_conn_close(conn);
		return;
	}
	request_done(conn);
}

void web_conn_refuse(struct web_conn *conn, unsigned status, int code,
		     const char *format, ...)
{
	char text[MESSAGE_TEXT_MAX];
	auto_free char *body = NULL;
	json_t *message;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	message = message_error(NULL, code, "%s", text);
	body = message ? json_dumps(message, JSON_COMPACT) : NULL;
	json_decref(message);
	web_conn_reply(conn, status, "application/json", bytes_str(body), NULL);
}

int web_conn_stream(struct web_conn *conn)
{
	auto_type(buf_release) struct buf out;
	struct head head = {
		.status = 200,
		.type = "text/event-stream",
		.framing = FRAMING_CHUNKED,
	};

	if (conn->request.is_http10) {
		head.framing = FRAMING_TO_CLOSE;
		conn->request.keep_alive = false;
	}
	buf_init(&out, HEAD_BYTES_MAX);
	if (add_head(conn, &out, &head) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0) {
		web_conn_close(conn);
		return -1;
	}
	conn->framing = head.framing;
	conn->state = WEB_STREAMING;
	io_deadline(conn->io, 0);
	return 0;
}

static void write_piece(struct web_conn *conn, struct bytes piece)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, piece.len + 64);
	if (body_encode(&out, conn->framing, piece) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0)
		web_conn_close(conn);
	else if (io_is_full(conn->io))
		io_deadline(conn->io, WEB_STALLED_MS);
}

void web_conn_event(struct web_conn *conn, struct bytes line)
{
	static const char before[] = "event: message\ndata: ";
	auto_type(buf_release) struct buf event;

	buf_init(&event, sizeof(before) + line.len + 2);
	if (buf_add_str(&event, before) < 0 || buf_add(&event, line) < 0 ||
	    buf_add_str(&event, "\n\n") < 0)
		web_conn_close(conn);
	else
		write_piece(conn, buf_view(&event));
}

void web_conn_alive(struct web_conn *conn)
{
	if (conn->state == WEB_STREAMING && !io_is_full(conn->io))
		write_piece(conn, bytes_str(":\n\n"));
}

void web_conn_stream_end(struct web_conn *conn)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, CHUNK_HEADER_MAX);
	if (conn->state != WEB_STREAMING)
		return;
	if (body_encode_end(&out, conn->framing) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0)
		web_conn_close(conn);
	else
		request_done(conn);
}

/* ---- events ---- */

static void on_timeout(struct web_conn *conn)
{
	if (conn->state == WEB_BODY ||
	    (conn->state == WEB_HEAD && conn->has_begun)) {
		conn->request.keep_alive = false;
		web_conn_refuse(conn, 408, MESSAGE_INVALID_REQUEST,
				"the request took too long");
	} else {
		web_conn_close(conn);
	}
}

static void on_drained(struct web_conn *conn)
{
	if (conn->state == WEB_STREAMING)
		io_deadline(conn->io, 0);
	else
		turn(conn);
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct web_conn *conn = owner;

	if (event == IO_RELEASED) {
		conn_free(conn);
		return;
	}
	if (conn->state == WEB_CLOSED)
		return;
	if (event == IO_DATA) {
		turn(conn);
	} else if (event == IO_DRAINED) {
		on_drained(conn);
	} else if (event == IO_TIMEOUT) {
		on_timeout(conn);
	} else if (event == IO_EOF && conn->state == WEB_HEAD) {
		conn->state = WEB_CLOSED;
		io_close_flushed(io, WEB_LINGER_MS);
	} else {
		/* Who ends its side does not wait for an answer. */
		web_conn_close(conn);
	}
}

/* Who waits for a head longest makes room for who comes. */
static void make_room(struct web *web)
{
	struct web_conn *conn;

	DL_FOREACH(web->conns, conn)
	if (conn->state == WEB_HEAD) {
		web_conn_close(conn);
		return;
	}
	web->is_full = true;
	io_listener_pause(web->listener, true);
}

void web_accept(struct web *web, int fd)
{
	struct web_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		(void)close(fd);
		return;
	}
	conn->web = web;
	arena_init(&conn->arena, HEAD_ARENA_BYTES);
	conn->io = io_new(web->loop, fd, &limits, on_event, conn);
	if (!conn->io) {
		free(conn);
		return;
	}
	DL_APPEND(web->conns, conn);
	next_request(conn);
	io_read_start(conn->io);
	/* Where all others are busy it may be the one that goes. */
	if (++web->conn_count >= WEB_CONNS_MAX)
		make_room(web);
}
