#include "common/cleanup.h"
#include "gateway/http/write.h"
#include "gateway/websocket/handshake.h"
#include "sandbox-host/api/parts.h"

/* ---- an answer that streams ---- */

int exchange_stream_begin(struct exchange *exchange, unsigned status,
			  const char *content_type, uint64_t len)
{
	struct conn *conn = conn_of(exchange);
	auto_type(buf_release) struct buf out;
	struct reply_head head = {
		.status = status,
		.content_type = content_type,
		.framing = FRAMING_LENGTH,
		.len = len,
	};

	if (conn->state == CONN_CLOSED)
		return -1;
	if (len == UINT64_MAX)
		head.framing = conn->request.is_http10 ? FRAMING_TO_CLOSE
						       : FRAMING_CHUNKED;
	if (head.framing == FRAMING_TO_CLOSE)
		conn->request.keep_alive = false;
	/* A body that still comes is read on, and may end in order. */
	head.keep_alive = conn->request.keep_alive;
	conn->framing = head.framing;
	conn->out_left = conn->is_head_only ? 0 : len;
	buf_init(&out, HEAD_BYTES_MAX);
	if (reply_head(&out, exchange, &head) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0) {
		conn_close(conn);
		return -1;
	}
	conn->state = CONN_STREAM;
	io_deadline(conn->io, 0);
	return 0;
}

static uint64_t sent_of(const struct conn *conn)
{
	size_t waiting = io_out_len(conn->io);

	return conn->out_bytes > waiting ? conn->out_bytes - waiting : 0;
}

/* From the first byte that waits: what is written after it, a ping, makes the
 * time no longer. */
static int write_out(struct conn *conn, struct bytes bytes)
{
	if (io_write(conn->io, bytes) < 0) {
		conn_close(conn);
		return -1;
	}
	conn->out_bytes += bytes.len;
	if (io_out_len(conn->io) > 0 && !conn->is_stalled) {
		conn->is_stalled = true;
		conn->sent_bytes = sent_of(conn);
		io_deadline(conn->io, EXCHANGE_STALLED_MS);
	}
	return 0;
}

bool conn_is_read(struct conn *conn)
{
	uint64_t sent = sent_of(conn);
	bool is_read = conn->is_stalled && sent > conn->sent_bytes;

	conn->sent_bytes = sent;
	if (is_read)
		io_deadline(conn->io, EXCHANGE_STALLED_MS);
	return is_read;
}

static int write_chunk(struct conn *conn, struct bytes bytes)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, bytes.len + 64);
	if (body_encode(&out, FRAMING_CHUNKED, bytes) < 0) {
		conn_close(conn);
		return -1;
	}
	return write_out(conn, buf_view(&out));
}

int exchange_stream_write(struct exchange *exchange, struct bytes bytes)
{
	struct conn *conn = conn_of(exchange);

	if (conn->state == CONN_RAW)
		return write_out(conn, bytes);
	if (conn->state != CONN_STREAM)
		return -1;
	if (conn->is_head_only || bytes.len == 0)
		return 0;
	if (conn->framing == FRAMING_LENGTH) {
		if (bytes.len > conn->out_left) {
			conn_close(conn);
			return -1;
		}
		conn->out_left -= bytes.len;
	}
	return conn->framing == FRAMING_CHUNKED ? write_chunk(conn, bytes)
						: write_out(conn, bytes);
}

bool exchange_stream_is_full(const struct exchange *exchange)
{
	return io_is_full(conn_of(exchange)->io);
}

void exchange_stream_end(struct exchange *exchange)
{
	struct conn *conn = conn_of(exchange);

	if (conn->state == CONN_RAW)
		conn->request.keep_alive = false;
	else if (conn->state != CONN_STREAM)
		return;
	else if (conn->framing == FRAMING_LENGTH && conn->out_left > 0) {
		conn_close(conn);
		return;
	} else if (conn->framing == FRAMING_CHUNKED && !conn->is_head_only &&
		   io_write(conn->io, bytes_str(CHUNK_LAST)) < 0) {
		conn_close(conn);
		return;
	}
	conn_request_done(conn);
}

void exchange_break(struct exchange *exchange)
{
	conn_close(conn_of(exchange));
}

void exchange_body_pause(struct exchange *exchange, bool is_paused)
{
	struct conn *conn = conn_of(exchange);

	if (conn->is_body_paused == is_paused || conn->state == CONN_CLOSED)
		return;
	conn->is_body_paused = is_paused;
	if (conn->state == CONN_SERVED && !conn->is_body_over)
		io_deadline(conn->io, is_paused ? 0 : EXCHANGE_STALLED_MS);
	if (!is_paused)
		conn_turn(conn);
}

/* ---- another protocol ---- */

static int switch_protocol(struct exchange *exchange, const char *name)
{
	struct conn *conn = conn_of(exchange);
	auto_type(buf_release) struct buf out;

	if (conn->state == CONN_CLOSED)
		return -1;
	buf_init(&out, HEAD_BYTES_MAX);
	if (buf_add_format(&out,
			   "HTTP/1.1 101 Switching Protocols\r\n"
			   "Connection: Upgrade\r\nUpgrade: %s\r\n"
			   "X-Request-ID: %s\r\n",
			   name, exchange->request_id) < 0)
		return -1;
	for (size_t i = 0; i < exchange->added.count; i++)
		if (write_field(&out, exchange->added.items[i].name,
				exchange->added.items[i].value) < 0)
			return -1;
	if (write_end(&out) < 0 || io_write(conn->io, buf_view(&out)) < 0) {
		conn_close(conn);
		return -1;
	}
	conn->state = CONN_RAW;
	io_deadline(conn->io, 0);
	return 0;
}

int exchange_upgrade(struct exchange *exchange)
{
	return switch_protocol(exchange, "websocket");
}

bool exchange_websocket(struct exchange *exchange, struct bytes *accept)
{
	struct conn *conn = conn_of(exchange);
	struct websocket_handshake handshake;
	struct http_fault fault = {.reason = "this is a WebSocket"};

	if (!exchange->is_websocket ||
	    websocket_offer(&handshake, &conn->arena, &conn->request, &fault) <
		    0) {
		exchange_fail(exchange, exchange->is_websocket ? 400 : 426,
			      "INVALID_REQUEST", "%s", fault.reason);
		return false;
	}
	*accept = bytes_str(
		arena_str(exchange->arena, bytes_str(handshake.client_accept)));
	if (!accept->data)
		exchange_fail_memory(exchange);
	return accept->data != NULL;
}

struct io_loop *exchange_loop(const struct exchange *exchange)
{
	return exchange->api->loop;
}
