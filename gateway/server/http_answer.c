#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/http/write.h"
#include "gateway/server/parts.h"

static bool has_body(const struct http_conn *conn)
{
	return !bytes_is(conn->request.method, "HEAD");
}

/* ---- whole ones ---- */

void http_conn_reply(struct http_conn *conn, unsigned status,
		     const struct fields *fields, struct bytes body)
{
	auto_type(buf_release) struct buf out;
	const struct response response = {
		.status = status,
		.reason = write_reason(status),
		.fields = *fields,
		.framing = status == 204 || status == 304 ? FRAMING_NONE
							  : FRAMING_LENGTH,
		.body_len = body.len,
	};
	/* What is left of a body is not read any more. */
	bool keep_alive = conn->request.keep_alive && conn->is_body_over;

	buf_init(&out, HEAD_BYTES_MAX + body.len);
	if (conn->state == HTTP_CONN_CLOSED)
		return;
	/* Too late for another answer: the client must see that it broke. */
	if (conn->state == HTTP_CONN_STREAM || conn->state == HTTP_CONN_RAW) {
		http_conn_close(conn);
		return;
	}
	if (response.framing == FRAMING_NONE || !has_body(conn))
		body.len = 0;
	if (write_response(&out, &response, keep_alive) < 0 ||
	    buf_add(&out, body) < 0 || io_write(conn->io, buf_view(&out)) < 0) {
		log_warn("an answer could not be sent");
		http_conn_close(conn);
		return;
	}
	http_conn_done(conn);
}

/* ---- streams ---- */

/* What waits of the answer before has its time, which what follows it makes no
 * longer. */
static void watch_stall(struct http_conn *conn)
{
	io_deadline(conn->io, conn->is_stalled ? HTTP_STALLED_MS : 0);
}

int http_conn_stream_begin(struct http_conn *conn, unsigned status,
			   const struct fields *fields, uint64_t len)
{
	auto_type(buf_release) struct buf out;
	struct response response = {
		.status = status,
		.reason = write_reason(status),
		.fields = *fields,
		.framing = FRAMING_LENGTH,
		.body_len = len,
	};

	buf_init(&out, HEAD_BYTES_MAX);
	if (conn->state == HTTP_CONN_CLOSED)
		return -1;
	if (len == UINT64_MAX)
		response.framing = conn->request.is_http10 ? FRAMING_TO_CLOSE
							   : FRAMING_CHUNKED;
	if (response.framing == FRAMING_TO_CLOSE)
		conn->request.keep_alive = false;
	conn->framing = response.framing;
	conn->out_left = has_body(conn) ? len : 0;
	/* A body that still comes is read on, and may end in order. */
	if (write_response(&out, &response, conn->request.keep_alive) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0) {
		http_conn_close(conn);
		return -1;
	}
	conn->state = HTTP_CONN_STREAM;
	watch_stall(conn);
	return 0;
}

static uint64_t sent_of(const struct http_conn *conn)
{
	size_t waiting = io_out_len(conn->io);

	return conn->out_bytes > waiting ? conn->out_bytes - waiting : 0;
}

/* From the first byte that waits: what is written after it, a ping, makes the
 * time no longer. */
static int write_out(struct http_conn *conn, struct bytes bytes)
{
	if (io_write(conn->io, bytes) < 0) {
		http_conn_close(conn);
		return -1;
	}
	conn->out_bytes += bytes.len;
	if (io_out_len(conn->io) > 0 && !conn->is_stalled) {
		conn->is_stalled = true;
		conn->sent_bytes = sent_of(conn);
		io_deadline(conn->io, HTTP_STALLED_MS);
	}
	return 0;
}

bool http_conn_is_read(struct http_conn *conn)
{
	uint64_t sent = sent_of(conn);
	bool is_read = conn->is_stalled && sent > conn->sent_bytes;

	conn->sent_bytes = sent;
	/* What was sent at once after it was queued was never told as
	 * drained. */
	conn->is_stalled = io_out_len(conn->io) > 0;
	if (is_read && conn->is_stalled)
		io_deadline(conn->io, HTTP_STALLED_MS);
	return is_read;
}

static int write_chunk(struct http_conn *conn, struct bytes bytes)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, bytes.len + 64);
	if (body_encode(&out, FRAMING_CHUNKED, bytes) < 0) {
		http_conn_close(conn);
		return -1;
	}
	return write_out(conn, buf_view(&out));
}

int http_conn_stream_write(struct http_conn *conn, struct bytes bytes)
{
	if (conn->state == HTTP_CONN_RAW)
		return write_out(conn, bytes);
	if (conn->state != HTTP_CONN_STREAM)
		return -1;
	if (!has_body(conn) || bytes.len == 0)
		return 0;
	if (conn->framing == FRAMING_CHUNKED)
		return write_chunk(conn, bytes);
	if (conn->framing == FRAMING_LENGTH) {
		if (bytes.len > conn->out_left) {
			http_conn_close(conn);
			return -1;
		}
		conn->out_left -= bytes.len;
	}
	return write_out(conn, bytes);
}

bool http_conn_is_full(const struct http_conn *conn)
{
	return io_is_full(conn->io);
}

/* 0, or -1: there is no such end. */
static int end_body(struct http_conn *conn)
{
	if (conn->framing == FRAMING_LENGTH)
		return conn->out_left == 0 ? 0 : -1;
	if (conn->framing == FRAMING_CHUNKED && has_body(conn))
		return io_write(conn->io, bytes_str(CHUNK_LAST));
	return 0;
}

void http_conn_stream_end(struct http_conn *conn)
{
	if (conn->state == HTTP_CONN_RAW) {
		conn->request.keep_alive = false;
	} else if (conn->state != HTTP_CONN_STREAM) {
		return;
	} else if (end_body(conn) < 0) {
		http_conn_close(conn);
		return;
	}
	http_conn_done(conn);
}

int http_conn_switch(struct http_conn *conn, struct bytes head)
{
	if (conn->state == HTTP_CONN_CLOSED)
		return -1;
	if (io_write(conn->io, head) < 0) {
		http_conn_close(conn);
		return -1;
	}
	conn->state = HTTP_CONN_RAW;
	conn->is_paused = true;
	watch_stall(conn);
	return 0;
}
