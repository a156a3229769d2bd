/* GET /sandboxes/{id}/endpoints/{port}: where a port of a sandbox is reached,
 * and what proves that one may. */
#include "sandbox-host/api/auth.h"
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/lifecycle.h"

#define PORT_DIGITS 5

static enum route_place place_of(uint64_t port)
{
	if (port == LIFECYCLE_PORT_EXECD)
		return ROUTES_EXECD;
	return port == LIFECYCLE_PORT_EGRESS ? ROUTES_EGRESS : ROUTES_PROXY;
}

/* By the name that the client reached us with, which may be a proxy's. */
static const char *authority_of(struct exchange *exchange)
{
	const struct request *request = &exchange->conn->request;

	if (request->host.len == 0)
		return arena_str(exchange->arena,
				 exchange->api->config.addresses[0].text);
	if (request->port == 0)
		return arena_str(exchange->arena, request->host);
	return arena_format(exchange->arena, "%.*s:%u",
			    BYTES_ARGS(request->host), (unsigned)request->port);
}

static const char *path_of(struct exchange *exchange, struct bytes id,
			   uint64_t port)
{
	switch (place_of(port)) {
	case ROUTES_EXECD:
		return arena_format(exchange->arena, "/sandboxes/%.*s/execd",
				    BYTES_ARGS(id));
	case ROUTES_EGRESS:
		return arena_format(exchange->arena, "/sandboxes/%.*s/egress",
				    BYTES_ARGS(id));
	case ROUTES_PROXY:
	case ROUTES_LIFECYCLE:
	case ROUTE_PLACE_MAX:
	default:
		return arena_format(exchange->arena, "/sandboxes/%.*s/proxy/%u",
				    BYTES_ARGS(id), (unsigned)port);
	}
}

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;
	const uint64_t *port = exchange->task;
	const char *authority = authority_of(exchange);
	const char *path = path_of(exchange, sandbox->id, *port);
	char token[AUTH_TOKEN_SIZE];

	(void)fd;
	if (sandbox->state == HOST_TERMINATED ||
	    sandbox->state == HOST_FAILED || sandbox->state == HOST_STOPPING) {
		exchange_fail(exchange, 409, "INVALID_STATE",
			      "the sandbox is %s",
			      host_state_name((enum host_state)sandbox->state));
		return;
	}
	if (!authority || !path) {
		exchange_fail_memory(exchange);
		return;
	}
	auth_token(&exchange->api->config, place_of(*port), sandbox->id, token);
	exchange_reply_json(exchange, 200,
			    json_pack("{s:s+, s:{s:s}}", "endpoint", authority,
				      path, "headers",
				      auth_field(place_of(*port)), token));
}

void lifecycle_endpoint(struct exchange *exchange)
{
	uint64_t *port = arena_alloc(exchange->arena, sizeof(*port));

	if (!port) {
		exchange_fail_memory(exchange);
		return;
	}
	if (bytes_to_u64(exchange->pieces[1], PORT_DIGITS, port) < 0 ||
	    *port == 0 || *port > UINT16_MAX) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "a port is a number from 1 to 65535");
		return;
	}
	if (exchange_query_all(exchange, "expires", &(struct bytes){0}, 1)) {
		exchange_fail(exchange, 501, "NOT_SUPPORTED",
			      "there are no signed routes: the token of the "
			      "answer goes with every request");
		return;
	}
	exchange->task = port;
	lifecycle_ask_show(exchange, on_shown);
}
