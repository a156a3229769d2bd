/* POST /sandboxes. What begins to start is ended again when nobody is left
 * who would ever hear its id. */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/lifecycle.h"
#include "sandbox-host/api/shown.h"
#include "sandbox-host/api/spec.h"

struct creation {
	struct api *api;
	struct exchange *exchange; /* NULL: the client is gone */
};

static void on_dropped(struct rpc_outcome *outcome, void *owner)
{
	(void)outcome;
	(void)owner;
}

static void drop(struct api *api, const struct host_sandbox *sandbox)
{
	const struct host_ref ref = {.id = sandbox->id};
	const struct rpc_call call = {
		.type = MSG_HOST_KILL,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_dropped,
	};
	struct err err;

	log_info("%.*s: who asked for it is gone", BYTES_ARGS(sandbox->id));
	if (rpc_ask(api->daemon, &call, NULL, &err) < 0)
		log_warn("%s", err.text);
}

static void on_end(struct exchange *exchange)
{
	struct creation *creation = exchange->task;

	if (creation)
		creation->exchange = NULL;
}

static void reply(struct exchange *exchange, const struct host_sandbox *sandbox)
{
	const char *location = arena_format(
		exchange->arena, "/v1/sandboxes/%.*s", BYTES_ARGS(sandbox->id));

	if (location)
		exchange_add_field(exchange, "Location", bytes_str(location));
	exchange_reply_json(exchange, 202, shown_sandbox(sandbox, false));
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct creation *creation = owner;
	struct exchange *exchange = creation->exchange;
	struct api *api = creation->api;

	free(creation);
	if (exchange)
		exchange->task = NULL;
	if (!exchange && !outcome->err)
		drop(api, outcome->message);
	else if (exchange && outcome->err)
		exchange_fail_outcome(exchange, outcome);
	else if (exchange)
		reply(exchange, outcome->message);
}

static void ask(struct exchange *exchange, int fd)
{
	struct creation *creation = calloc(1, sizeof(*creation));
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_HOST_CREATE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = fd,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = EXCHANGE_ASK_START_MS,
		.on_outcome = on_outcome,
		.owner = creation,
	};
	struct err err;

	if (!creation) {
		exchange_fail_memory(exchange);
		return;
	}
	*creation = (struct creation){exchange->api, exchange};
	if (rpc_ask(exchange->api->daemon, &call, NULL, &err) < 0) {
		free(creation);
		exchange_fail(exchange, 503, "UNAVAILABLE", "%s", err.text);
		return;
	}
	exchange->task = creation;
	exchange->on_end = on_end;
}

void lifecycle_create(struct exchange *exchange)
{
	json_t *root = exchange_json(exchange);
	struct sandbox_request request;
	struct spec_fault fault;
	auto_fd int fd = -1;
	struct err err;
	int result;

	if (!root)
		return;
	result = spec_read(exchange->arena, &exchange->api->config, root,
			   clock_wall_ms(), &request, &fault);
	if (result == 0)
		fd = sandbox_request_seal(&request, &err);
	json_decref(root);
	if (result < 0)
		exchange_fail(exchange, fault.status,
			      fault.status == 422 ? "INVALID_BODY"
						  : "INVALID_REQUEST",
			      "%s", fault.text);
	else if (fd < 0)
		exchange_fail(exchange, 400, "INVALID_REQUEST", "%s", err.text);
	else
		ask(exchange, fd);
}
