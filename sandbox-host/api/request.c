#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/api/auth.h"
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/decode.h"

#define REQUEST_ID_MAX (sizeof(((struct exchange *)NULL)->request_id) - 1)

void conn_refuse(void *owner, unsigned status, const char *why)
{
	struct conn *conn = owner;
	const char *code = status >= 500   ? "INTERNAL"
			   : status == 408 ? "REQUEST_TIMEOUT"
			   : status == 413 ? "BODY_TOO_LARGE"
					   : "INVALID_REQUEST";

	exchange_fail(&conn->exchange, status, code, "%s", why);
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

static void read_match(struct exchange *exchange,
		       const struct route_match *match)
{
	const struct request *request = &http_of(exchange)->request;

	exchange->method = request->method;
	exchange->sandbox = match->sandbox;
	exchange->rest = match->rest;
	exchange->query_raw = request->query;
	exchange->has_query = request->has_query;
	exchange->is_websocket = request->is_websocket;
	exchange->body_len = request->framing == FRAMING_CHUNKED
				     ? UINT64_MAX
				     : request->body_len;
	exchange->route = match->route;
}

/* Who has no key is not told what there is. */
static bool is_admitted(struct exchange *exchange,
			const struct route_match *match)
{
	struct api *api = exchange->api;

	if (!auth_check(&api->config, exchange, match)) {
		exchange_fail(exchange, 401, "UNAUTHORIZED",
			      match->place == ROUTES_LIFECYCLE
				      ? "OPEN-SANDBOX-API-KEY is missing or "
					"wrong"
				      : "the sandbox's token is missing, wrong "
					"or over");
		return false;
	}
	if (match->route && match->route->may == ROUTE_OPEN)
		return true;
	if (!pace_take(&api->pace, exchange->client, clock_monotonic_ms())) {
		exchange_fail(exchange, 429, "LIMIT_REACHED",
			      "this client asks more often in a second than is "
			      "left for others");
		return false;
	}
	exchange->is_held =
		pace_hold(&api->held, exchange->client, api->server.conns_max);
	if (!exchange->is_held)
		exchange_fail(exchange, 429, "LIMIT_REACHED",
			      "this client has as many requests that are not "
			      "answered yet as are left for others");
	return exchange->is_held;
}

static bool find_route(struct exchange *exchange)
{
	const struct request *request = &http_of(exchange)->request;
	struct route_match match;

	route_find(route_tables, request->method, request->path, &match);
	read_match(exchange, &match);
	if (!match.route && match.allow[0]) {
		exchange_add_field(exchange, "Allow", bytes_str(match.allow));
		exchange_fail(exchange, 405, "METHOD_NOT_ALLOWED",
			      "this path has other methods");
		return false;
	}
	if (!is_admitted(exchange, &match))
		return false;
	if (!match.route) {
		exchange_fail(exchange, 404, "NOT_FOUND",
			      "there is nothing at this path");
		return false;
	}
	for (size_t i = 0; i < match.piece_count; i++)
		if (decode_piece(exchange->arena, match.pieces[i],
				 &exchange->pieces[i]) < 0) {
			exchange_fail(exchange, 400, "INVALID_REQUEST",
				      "a piece of the path can not be decoded");
			return false;
		}
	return true;
}

void conn_begin(void *owner)
{
	struct conn *conn = owner;
	struct exchange *exchange = &conn->exchange;

	name_request(exchange);
	if (!find_route(exchange))
		return;
	if (exchange->route->body == ROUTE_WHOLE)
		http_conn_collect(&conn->http, exchange->route->body_max);
	else
		http_conn_pass(&conn->http, exchange->route->body_max
						    ? exchange->route->body_max
						    : HTTP_UNBOUNDED);
}
