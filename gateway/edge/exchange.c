#include "common/cleanup.h"
#include "gateway/edge/look.h"
#include "gateway/http/trailers.h"

/* What a filter may make of FILTER_IN_MAX bytes: a gzip'd byte can become
 * 1,032 (DEFLATE's own limit). */
#define FILTER_OUT_MAX (5 * 1024 * 1024)

/* ---- the request's body ---- */

void conn_continue(struct conn *conn)
{
	if (!conn->errand->request.expects_continue || conn->body_done)
		return;
	conn->errand->request.expects_continue = false;
	(void)io_write(conn->client, bytes_str(WRITE_CONTINUE));
}

/* One slice, or the body's end, through filter_up to sink. */
static int filter_up(struct conn *conn, struct bytes slice, bool is_end,
		     body_sink_fn *sink)
{
	const struct filter *filter = conn->filter_up;
	auto_type(buf_release) struct buf out;
	struct err err;
	int result;

	buf_init(&out, FILTER_OUT_MAX);
	result = is_end ? filter->end(filter->state, &out, &err)
			: filter->feed(filter->state, slice, &out, &err);
	if (result < 0) {
		if (conn->refusal.constraint == CONSTRAINT_none)
			conn_refuse(conn, CONSTRAINT_request_malformed, "%s",
				    err.text);
		return -1;
	}
	return buf_len(&out) ? sink(conn, buf_view(&out)) : 0;
}

static int feed_up(struct conn *conn, struct bytes payload, body_sink_fn *sink)
{
	if (!conn->filter_up)
		return sink(conn, payload);
	while (payload.len > 0) {
		struct bytes slice = bytes_slice(payload, 0, FILTER_IN_MAX);

		if (filter_up(conn, slice, false, sink) < 0)
			return -1;
		payload = bytes_slice(payload, slice.len, payload.len);
	}
	return 0;
}

static int body_invalid(struct conn *conn, const char *reason)
{
	conn->close_after = true;
	conn_refuse(conn, CONSTRAINT_request_malformed, "%s", reason);
	return -1;
}

/* One span. 1: the body is complete; 0: go on; -1: refused; 2: wait. */
static int pump_span(struct conn *conn, body_sink_fn *sink)
{
	struct buf *in = io_in(conn->client);
	struct bytes input = buf_view(in);
	size_t before = input.len;
	struct bytes payload;
	enum body_result result = body_decode(conn->body, &input, &payload);
	int fed;

	if (result == BODY_INVALID)
		return body_invalid(conn, conn->body->reason);
	conn->bytes_up += payload.len;
	fed = rate_up(conn, payload.len);
	if (fed == 0 && payload.len)
		fed = feed_up(conn, payload, sink);
	/* Also what was refused is read: who drains the rest goes on there. */
	buf_consume(in, before - input.len);
	conn->body_done = result == BODY_END;
	if (fed < 0)
		return -1;
	if (conn->body_done) {
		if (conn->filter_up &&
		    filter_up(conn, bytes_from(NULL, 0), true, sink) < 0)
			return -1;
		return 1;
	}
	return before == input.len ? 2 : 0;
}

int conn_pump_body(struct conn *conn, body_sink_fn *sink, body_full_fn *is_full)
{
	int result = 0;

	while (!conn->body_done && result == 0 && !is_full(conn))
		result = pump_span(conn, sink);
	if (result < 0)
		return -1;
	if (conn->body_done || is_full(conn))
		io_read_stop(conn->client);
	else if (conn->is_eof)
		return body_invalid(conn, "the body was cut short");
	else
		io_read_start(conn->client);
	return result == 1;
}

static int sink_upstream(struct conn *conn, struct bytes bytes)
{
	if (upstream_body(conn->up, bytes) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_upstream_closed,
		    "the upstream takes no more of the body");
	return -1;
}

static bool upstream_full(struct conn *conn)
{
	return upstream_is_full(conn->up);
}

static enum step pump(struct conn *conn)
{
	int result;

	if (!conn->is_ready || (conn->body_done && !conn->look))
		return STEP_STAY;
	result = conn->look
			 ? look_send(conn)
			 : conn_pump_body(conn, sink_upstream, upstream_full);
	if (result < 0)
		return STEP_DENY;
	if (result == 1 && upstream_body_end(conn->up) < 0) {
		conn_refuse(conn, CONSTRAINT_upstream_closed,
			    "the upstream closed before the body's end");
		return STEP_DENY;
	}
	return STEP_STAY;
}

static enum step on_ready(struct conn *conn)
{
	const struct upstream_labels labels = {
		.request_id = bytes_str(conn->request_id),
		.rule = conn->verdict.rule,
	};
	struct err err;

	/* What a filter makes of a body has another length. */
	if (conn->filter_up && !conn->keeps_length &&
	    conn->errand->request.framing == FRAMING_LENGTH)
		conn->errand->request.framing = FRAMING_CHUNKED;
	if (upstream_send(conn->up, &conn->errand->request, &labels, &err) <
	    0) {
		conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
		return STEP_DENY;
	}
	/* A connection that died unheard fails in a moment. */
	conn->is_ready = upstream_is_sent(conn->up);
	if (!conn->is_ready)
		return STEP_STAY;
	conn_continue(conn);
	return pump(conn);
}

/* ---- the response ---- */

static bool keeps_alive(const struct conn *conn)
{
	bool may_come = !conn->is_eof || buf_len(io_in(conn->client)) > 0;

	return conn->errand->request.keep_alive && !conn->close_after &&
	       may_come && conn->reply_framing != FRAMING_TO_CLOSE &&
	       conn->requests < CONN_REQUESTS_MAX;
}

static enum step on_head(struct conn *conn)
{
	struct response *response = upstream_response(conn->up);
	auto_type(buf_release) struct buf out = {0};
	struct response reply;

	if (conn->check_reply && conn->check_reply(conn) < 0)
		return STEP_DENY;
	edit_response(response, conn->verdict.credential.len > 0);
	reply = *response;
	if (conn->filter_down && reply.framing == FRAMING_LENGTH)
		reply.framing = FRAMING_CHUNKED;
	reply.framing = framing_for_client(&reply, &conn->errand->request);
	conn->reply_framing = reply.framing;
	if (reply.framing == FRAMING_LENGTH &&
	    rate_expect(conn, reply.body_len) < 0)
		return STEP_DENY;
	buf_init(&out, 2 * HEAD_BYTES_MAX);
	if (write_response(&out, &reply, keeps_alive(conn)) < 0 ||
	    io_write(conn->client, buf_view(&out)) < 0)
		return STEP_END;
	conn->has_replied = true;
	conn->reply_status = reply.status;
	return STEP_STAY;
}

static int send_body(struct conn *conn, struct bytes bytes)
{
	char header[CHUNK_HEADER_MAX];
	size_t len;

	if (bytes.len == 0)
		return 0;
	if (rate_down(conn, bytes.len) < 0)
		return -1;
	conn->bytes_down += bytes.len;
	if (conn->reply_framing != FRAMING_CHUNKED)
		return io_write(conn->client, bytes);
	len = chunk_header(bytes.len, header);
	if (io_write(conn->client, bytes_from(header, len)) < 0 ||
	    io_write(conn->client, bytes) < 0)
		return -1;
	return io_write(conn->client, bytes_str(CHUNK_TAIL));
}

static int filter_down(struct conn *conn, struct bytes span, bool is_end)
{
	const struct filter *filter = conn->filter_down;
	auto_type(buf_release) struct buf out = {0};
	struct err err;
	int result;

	buf_init(&out, FILTER_OUT_MAX);
	result = is_end ? filter->end(filter->state, &out, &err)
			: filter->feed(filter->state, span, &out, &err);
	if (result < 0) {
		conn_refuse(conn, CONSTRAINT_response_malformed, "%s",
			    err.text);
		return -1;
	}
	return send_body(conn, buf_view(&out));
}

static int feed_down(struct conn *conn, struct bytes span, bool is_end)
{
	return conn->filter_down ? filter_down(conn, span, is_end)
				 : send_body(conn, span);
}

/* The head was sent: all that is left is to end the connection without the
 * body's end. Where the end of the connection is the body's, it must not
 * look orderly. */
static enum step cut_off(struct conn *conn)
{
	if (conn->reply_framing != FRAMING_TO_CLOSE)
		return STEP_END;
	conn_close(conn);
	return STEP_STAY;
}

static enum step on_body(struct conn *conn)
{
	if (feed_down(conn, upstream_span(conn->up), false) < 0)
		return cut_off(conn);
	if (io_is_full(conn->client))
		upstream_pause(conn->up);
	return STEP_STAY;
}

/* A client of HTTP/2 gets the trailers that pass. */
static int write_last_chunk(struct conn *conn)
{
	auto_type(buf_release) struct buf out = {0};
	struct fields trailers;

	if (!conn->is_stream)
		return io_write(conn->client, bytes_str(CHUNK_LAST));
	trailers = upstream_trailers(conn->up);
	buf_init(&out, 2 * GUARD_TRAILER_MAX);
	if (trailers_write(&out, &trailers) < 0)
		return -1;
	return io_write(conn->client, buf_view(&out));
}

static enum step on_end(struct conn *conn)
{
	bool keep;

	if (feed_down(conn, bytes_from(NULL, 0), true) < 0 ||
	    (conn->reply_framing == FRAMING_CHUNKED &&
	     write_last_chunk(conn) < 0))
		return cut_off(conn);
	if (!conn->body_done)
		conn->close_after = true;
	keep = keeps_alive(conn);
	conn_put_upstream(conn);
	return keep ? STEP_NEXT : STEP_OTHER;
}

/* RFC 9110 9.2.2: what may be sent again, when nobody asked for it. */
static bool is_repeatable(const struct request *request)
{
	static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "PUT",
					      "DELETE"};

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (bytes_is(request->method, methods[i]))
			return request->framing == FRAMING_NONE;
	return false;
}

/* Each try takes a kept connection away, and a new one is never stale. What
 * was not sent may be sent, whatever it is. */
static enum step on_failed(struct conn *conn)
{
	if (upstream_was_stale(conn->up) &&
	    (!conn->is_ready || is_repeatable(&conn->errand->request)))
		return conn_get_upstream(conn, conn->verdict.credential) < 0
			       ? STEP_DENY
			       : STEP_STAY;
	conn_refuse_upstream(conn);
	return conn->has_replied ? cut_off(conn) : STEP_DENY;
}

enum step exchange_step(struct conn *conn, enum lane_event event)
{
	switch (event) {
	case EV_ENTER:
		io_read_stop(conn->client);
		return conn_get_upstream(conn, conn->verdict.credential) < 0
			       ? STEP_DENY
			       : STEP_STAY;
	case EV_UP_READY:
		return on_ready(conn);
	case EV_EOF:
	case EV_DATA:
	case EV_UP_DRAINED:
		return pump(conn);
	case EV_UP_HEAD:
		return on_head(conn);
	case EV_UP_BODY:
		return on_body(conn);
	case EV_UP_END:
		return on_end(conn);
	case EV_UP_FAILED:
		return on_failed(conn);
	case EV_DRAINED:
		if (conn->up)
			upstream_resume(conn->up);
		return STEP_STAY;
	case EV_TLS_HELLO:
	case EV_TLS_READY:
	case EV_ANSWER:
	case EV_WAKE:
	case EV_PEER_DATA:
	case EV_PEER_EOF:
	case EV_PEER_DRAINED:
	case EV_MAX:
	default:
		return STEP_END;
	}
}
