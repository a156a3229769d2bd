#include "common/clock.h"
#include "common/log.h"
#include "gateway/http/write.h"
#include "sandbox-host/api/auth.h"
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/decode.h"

#define REQUEST_ID_MAX (sizeof(((struct exchange *)NULL)->request_id) - 1)

void conn_refuse(struct conn *conn, unsigned status, const char *code,
		 const char *message)
{
	if (!conn->is_body_over)
		conn->request.keep_alive = false;
	exchange_fail(&conn->exchange, status, code, "%s", message);
}

/* ---- the head ---- */

/* The caller's, where it can be shown again; else one of ours. */
static void name_request(struct exchange *exchange)
{
	struct bytes given = exchange_field(exchange, "X-Request-ID");

	if (given.len > 0 && given.len <= REQUEST_ID_MAX &&
	    http_is_token(given))
		(void)snprintf(exchange->request_id,
			       sizeof(exchange->request_id), "%.*s",
			       BYTES_ARGS(given));
	else
		random_id(exchange->request_id);
}

static bool find_route(struct conn *conn)
{
	struct exchange *exchange = &conn->exchange;
	const struct request *request = &conn->request;
	struct route_match match;

	route_find(route_tables, request->method, request->path, &match);
	exchange->method = request->method;
	exchange->sandbox = match.sandbox;
	exchange->rest = match.rest;
	exchange->query_raw = request->query;
	exchange->has_query = request->has_query;
	exchange->is_websocket = request->is_websocket;
	exchange->body_len = request->framing == FRAMING_CHUNKED
				     ? UINT64_MAX
				     : request->body_len;
	exchange->route = match.route;
	if (!match.route && match.allow[0]) {
		exchange_add_field(exchange, "Allow", bytes_str(match.allow));
		conn_refuse(conn, 405, "METHOD_NOT_ALLOWED",
			    "this path has other methods");
		return false;
	}
	/* Who has no key is not told what there is. */
	if (!auth_check(&conn->api->config, exchange, &match)) {
		conn_refuse(conn, 401, "UNAUTHORIZED",
			    match.place == ROUTES_LIFECYCLE
				    ? "OPEN-SANDBOX-API-KEY is missing or wrong"
				    : "the sandbox's token is missing, wrong "
				      "or over");
		return false;
	}
	if ((!match.route || match.route->may != ROUTE_OPEN) &&
	    !pace_take(&conn->api->pace, exchange->client,
		       clock_monotonic_ms())) {
		exchange_add_field(exchange, "Retry-After", bytes_str("1"));
		conn_refuse(conn, 429, "LIMIT_REACHED",
			    "this client asks more often in a second than is "
			    "left for others");
		return false;
	}
	if (!match.route) {
		conn_refuse(conn, 404, "NOT_FOUND",
			    "there is nothing at this path");
		return false;
	}
	for (size_t i = 0; i < match.piece_count; i++)
		if (decode_piece(&conn->arena, match.pieces[i],
				 &exchange->pieces[i]) < 0) {
			conn_refuse(conn, 400, "INVALID_REQUEST",
				    "a piece of the path can not be decoded");
			return false;
		}
	return true;
}

static bool may_begin(struct conn *conn)
{
	const struct request *request = &conn->request;

	name_request(&conn->exchange);
	conn->is_head_only = bytes_is(request->method, "HEAD");
	conn->is_body_over =
		request->framing == FRAMING_NONE ||
		(request->framing == FRAMING_LENGTH && request->body_len == 0);
	if (request->form != FORM_ORIGIN) {
		conn->request.keep_alive = false;
		conn_refuse(conn, 400, "INVALID_REQUEST", "this is no proxy");
		return false;
	}
	if (!find_route(conn))
		return false;
	if (request->framing == FRAMING_LENGTH &&
	    request->body_len > conn->exchange.route->body_max &&
	    (conn->exchange.route->body == ROUTE_WHOLE ||
	     conn->exchange.route->body_max > 0)) {
		conn_refuse(conn, 413, "BODY_TOO_LARGE",
			    "the body is too large");
		return false;
	}
	return true;
}

static void serve(struct conn *conn)
{
	uint64_t serial = conn->serial;

	conn->state = CONN_SERVED;
	io_deadline(conn->io, conn->is_body_over ? 0 : EXCHANGE_STALLED_MS);
	conn->exchange.route->handle(&conn->exchange);
	if (conn->serial == serial && conn->is_body_over &&
	    conn->state == CONN_SERVED && conn->exchange.on_complete &&
	    conn->exchange.route->body == ROUTE_STREAM)
		conn->exchange.on_complete(&conn->exchange);
}

void conn_begin(struct conn *conn)
{
	const struct request *request = &conn->request;

	if (!may_begin(conn))
		return;
	body_decoder_init(&conn->decoder, request->framing, request->body_len);
	if (request->expects_continue && !conn->is_body_over &&
	    io_write(conn->io, bytes_str(WRITE_CONTINUE)) < 0) {
		conn_close(conn);
		return;
	}
	if (conn->exchange.route->body == ROUTE_STREAM || conn->is_body_over) {
		serve(conn);
		return;
	}
	conn->state = CONN_BODY;
	io_deadline(conn->io, CONN_BODY_MS);
	buf_init(&conn->body, conn->exchange.route->body_max);
}

/* ---- the body ---- */

static bool is_too_large(const struct conn *conn)
{
	size_t max = conn->exchange.route->body_max;

	return conn->body_bytes > max &&
	       (max > 0 || conn->exchange.route->body == ROUTE_WHOLE);
}

/* False: the request is answered, or held back. */
static bool take(struct conn *conn, struct bytes payload)
{
	struct exchange *exchange = &conn->exchange;

	conn->body_bytes += payload.len;
	if (is_too_large(conn)) {
		conn_refuse(conn, 413, "BODY_TOO_LARGE",
			    "the body is too large");
		return false;
	}
	if (conn->state == CONN_BODY) {
		if (buf_add(&conn->body, payload) == 0)
			return true;
		conn_refuse(conn, 500, "INTERNAL", "no memory");
		return false;
	}
	if (payload.len > 0 && exchange->on_piece)
		exchange->on_piece(exchange, payload);
	return true;
}

static void on_body_end(struct conn *conn)
{
	struct exchange *exchange = &conn->exchange;

	conn->is_body_over = true;
	if (conn->state == CONN_BODY) {
		exchange->body = buf_view(&conn->body);
		serve(conn);
		return;
	}
	if (conn->state == CONN_SERVED)
		io_deadline(conn->io, 0);
	if (exchange->on_complete)
		exchange->on_complete(exchange);
}

/* One span of payload, which lives in a copy: a handler may end the
 * connection, and what it reads from with it. */
bool conn_read_body(struct conn *conn)
{
	struct buf *in = io_in(conn->io);
	uint8_t block[16 * 1024];
	struct bytes input = bytes_slice(buf_view(in), 0, sizeof(block));
	struct bytes payload, rest;
	enum body_result result;
	uint64_t serial = conn->serial;
	uint64_t before = conn->body_bytes;

	rest = input;
	result = body_decode(&conn->decoder, &rest, &payload);
	if (payload.len)
		memcpy(block, payload.data, payload.len);
	buf_consume(in, input.len - rest.len);
	if (result == BODY_INVALID) {
		conn->request.keep_alive = false;
		conn_refuse(conn, 400, "INVALID_REQUEST", conn->decoder.reason);
		return false;
	}
	if (!take(conn, bytes_from(block, payload.len)))
		return false;
	/* The handler may have answered, which ends the connection while a
	 * body is not over. */
	if (conn->state == CONN_CLOSED || conn->serial != serial)
		return false;
	if (result == BODY_END) {
		on_body_end(conn);
		return true;
	}
	if (conn->state == CONN_SERVED && conn->body_bytes > before)
		io_deadline(conn->io,
			    conn->is_body_paused ? 0 : EXCHANGE_STALLED_MS);
	return buf_len(in) > 0 && input.len > rest.len;
}
