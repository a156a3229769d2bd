/* POST /sandboxes, and every other start of a sandbox: one that begins to
 * start is ended again when nobody is left who would ever hear its id. So the
 * daemon's answer is waited for longer than any client waits. */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/lifecycle.h"
#include "sandbox-host/api/shown.h"
#include "sandbox-host/api/spec.h"

#define CLIENT_WAITS_MS 120000
#define OWNER_WAITS_MS	(60u * 60 * 1000)

struct creation {
	struct api *api;
	struct exchange *exchange; /* NULL: the client is gone, or was told
				      that it took too long */
	struct io_timer *patience;
	exchange_answer_fn *on_started;
	void *task; /* the exchange's, before */
};

static void on_dropped(struct rpc_outcome *outcome, void *owner)
{
	(void)outcome;
	(void)owner;
}

void lifecycle_drop(struct api *api, struct bytes id)
{
	const struct host_ref ref = {.id = id};
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

	if (rpc_ask(api->daemon, &call, NULL, &err) < 0)
		log_warn("%s", err.text);
}

static void on_end(struct exchange *exchange)
{
	struct creation *creation = exchange->task;

	if (creation)
		creation->exchange = NULL;
}

static void on_patience(void *owner)
{
	struct creation *creation = owner;
	struct exchange *exchange = creation->exchange;

	if (!exchange)
		return;
	creation->exchange = NULL;
	exchange->task = NULL;
	exchange->on_end = NULL;
	exchange_fail(exchange, 504, "TIMEOUT", "it took too long");
}

static void free_creation(struct creation *creation)
{
	if (creation->patience)
		io_timer_free(creation->patience);
	free(creation);
}

/* There was somebody, so it is ended. */
static void drop(struct api *api, const struct host_sandbox *sandbox)
{
	log_info("%.*s: who asked for it is gone", BYTES_ARGS(sandbox->id));
	lifecycle_drop(api, sandbox->id);
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct creation *creation = owner;
	const struct creation it = *creation;

	free_creation(creation);
	if (it.exchange) {
		it.exchange->task = it.task;
		it.exchange->on_end = NULL;
	}
	if (!it.exchange && !outcome->err)
		drop(it.api, outcome->message);
	else if (it.exchange && outcome->err)
		exchange_fail_outcome(it.exchange, outcome);
	else if (it.exchange)
		it.on_started(it.exchange, outcome->message, &outcome->fd);
}

void lifecycle_start(struct exchange *exchange,
		     const struct exchange_question *question,
		     exchange_answer_fn *on_started)
{
	struct creation *creation = calloc(1, sizeof(*creation));
	const struct rpc_call call = {
		.type = question->type,
		.schema = question->schema,
		.message = question->message,
		.fd = question->fd,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = OWNER_WAITS_MS,
		.on_outcome = on_outcome,
		.owner = creation,
	};
	struct err err;

	if (creation)
		creation->patience = io_timer_new(exchange_loop(exchange),
						  on_patience, creation);
	if (!creation || !creation->patience) {
		free(creation);
		exchange_fail_memory(exchange);
		return;
	}
	creation->api = exchange->api;
	creation->exchange = exchange;
	creation->on_started = on_started;
	creation->task = exchange->task;
	io_timer_set(creation->patience, CLIENT_WAITS_MS);
	if (rpc_ask(exchange->api->daemon, &call, NULL, &err) < 0) {
		free_creation(creation);
		exchange_fail(exchange, 503, "UNAVAILABLE", "%s", err.text);
		return;
	}
	exchange->task = creation;
	exchange->on_end = on_end;
}

static void on_created(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;
	const char *location = arena_format(
		exchange->arena, "/v1/sandboxes/%.*s", BYTES_ARGS(sandbox->id));

	(void)fd;
	if (location)
		exchange_add_field(exchange, "Location", bytes_str(location));
	exchange_reply_json(exchange, 202, shown_sandbox(sandbox, false));
}

static void ask(struct exchange *exchange, int fd)
{
	const struct wire_empty empty = {0};
	const struct exchange_question question = {
		.type = MSG_HOST_CREATE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = fd,
	};

	lifecycle_start(exchange, &question, on_created);
}

static const char *code_of(unsigned status)
{
	switch (status) {
	case 422:
		return "INVALID_BODY";
	case 501:
		return "NOT_SUPPORTED";
	default:
		return "INVALID_REQUEST";
	}
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
		exchange_fail(exchange, fault.status, code_of(fault.status),
			      "%s", fault.text);
	else if (fd < 0)
		exchange_fail(exchange, 400, "INVALID_REQUEST", "%s", err.text);
	else
		ask(exchange, fd);
}
