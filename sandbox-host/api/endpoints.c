/* GET /sandboxes/{id}/endpoints/{port}: where a port of a sandbox is reached,
 * and what proves that one may. */
#include "common/clock.h"
#include "sandbox-host/api/auth.h"
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/lifecycle.h"

#define PORT_DIGITS    5
#define SECONDS_DIGITS 20
#define THOUSAND       1000

struct wanted {
	uint64_t port;
	uint64_t until_s; /* of a signed route; 0: it is none */
};

static enum route_place place_of(uint64_t port)
{
	if (port == LIFECYCLE_PORT_EXECD)
		return ROUTES_EXECD;
	return port == LIFECYCLE_PORT_EGRESS ? ROUTES_EGRESS : ROUTES_PROXY;
}

/* By the name that the client reached us with, which may be a proxy's. */
static const char *authority_of(struct exchange *exchange)
{
	const struct request *request = &http_of(exchange)->request;

	if (request->host.len == 0)
		return arena_str(exchange->arena,
				 exchange->api->config.addresses[0].text);
	if (request->port == 0)
		return arena_str(exchange->arena, request->host);
	return arena_format(exchange->arena, "%.*s:%u",
			    BYTES_ARGS(request->host), (unsigned)request->port);
}

/* Its part behind the sandbox, with the proof before it where there is one. */
static const char *path_of(struct exchange *exchange, struct bytes id,
			   const struct wanted *wanted)
{
	enum route_place place = place_of(wanted->port);
	char proof[AUTH_PROOF_SIZE + sizeof("/signed/")] = "";
	size_t len = sizeof("/signed/") - 1;

	if (wanted->until_s > 0) {
		(void)snprintf(proof, sizeof(proof), "/signed/");
		auth_proof(&exchange->api->config, place, id,
			   place == ROUTES_PROXY ? wanted->port : 0,
			   wanted->until_s, proof + len);
	}
	if (place == ROUTES_PROXY)
		return arena_format(
			exchange->arena, "/sandboxes/%.*s%s/proxy/%u",
			BYTES_ARGS(id), proof, (unsigned)wanted->port);
	return arena_format(exchange->arena, "/sandboxes/%.*s%s/%s",
			    BYTES_ARGS(id), proof,
			    place == ROUTES_EXECD ? "execd" : "egress");
}

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;
	const struct wanted *wanted = exchange->task;
	enum route_place place = place_of(wanted->port);
	const char *authority = authority_of(exchange);
	const char *path = path_of(exchange, sandbox->id, wanted);
	char token[AUTH_TOKEN_SIZE];
	json_t *headers;

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
	auth_token(&exchange->api->config, place, sandbox->id, token);
	headers = wanted->until_s > 0
			  ? json_object()
			  : json_pack("{s:s}", auth_field(place), token);
	exchange_reply_json(exchange, 200,
			    json_pack("{s:s+, s:o}", "endpoint", authority,
				      path, "headers", headers));
}

static bool take_until(struct exchange *exchange, uint64_t *until_s)
{
	uint64_t now_s = clock_wall_ms() / THOUSAND;
	struct bytes text;
	bool is_proxied = false;

	*until_s = 0;
	if (!exchange_query(exchange, "expires", &text))
		return true;
	if (!exchange_query_flag(exchange, "use_server_proxy", &is_proxied))
		return false;
	if (bytes_to_u64(text, SECONDS_DIGITS, until_s) == 0 &&
	    *until_s > now_s && *until_s - now_s <= AUTH_PROOF_S_MAX &&
	    !is_proxied)
		return true;
	exchange_fail(exchange, 400, "INVALID_REQUEST",
		      "expires is a time to come within seven days, in "
		      "seconds since 1970, without use_server_proxy");
	return false;
}

void lifecycle_endpoint(struct exchange *exchange)
{
	struct wanted *wanted = arena_alloc(exchange->arena, sizeof(*wanted));

	if (!wanted) {
		exchange_fail_memory(exchange);
		return;
	}
	if (bytes_to_u64(exchange->pieces[1], PORT_DIGITS, &wanted->port) < 0 ||
	    wanted->port == 0 || wanted->port > UINT16_MAX) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "a port is a number from 1 to 65535");
		return;
	}
	if (!take_until(exchange, &wanted->until_s))
		return;
	exchange->task = wanted;
	lifecycle_ask_show(exchange, on_shown);
}
