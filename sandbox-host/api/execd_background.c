/*
 * Commands in the background: their sandbox's supervisor has them, with what
 * they write, so they outlive this process. Each call asks it anew.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/api/execd.h"
#include "sandbox-host/api/gone.h"

#define CURSOR_FIELD "EXECD-COMMANDS-TAIL-CURSOR"
#define CURSOR_MAX   INT64_MAX

/* Of the exchange; freed after its on_end. */
struct background {
	struct exchange *exchange;
	struct rpc *rpc;     /* NULL: there is none yet, or it was closed */
	struct bytes id;     /* in the exchange's arena */
	struct run_spec run; /* of one that begins */
	struct sse sse;
	struct rpc_call call; /* what is asked of one that is there, by: */
	struct background_ref ref;
	struct background_from from;
	bool is_over;
};

/* ---- life ---- */

static void close_channel(struct background *background)
{
	if (background->rpc)
		rpc_close(background->rpc);
	background->rpc = NULL;
}

/* Calls of the channel may still be told of their end in this turn. */
static void on_end(struct exchange *exchange)
{
	struct background *background = exchange->task;

	background->is_over = true;
	close_channel(background);
	sse_release(&background->sse);
	(void)io_loop_defer(exchange_loop(exchange), free, background);
}

static struct background *begin(struct exchange *exchange, struct bytes id)
{
	struct background *background = calloc(1, sizeof(*background));

	if (!background) {
		exchange_fail_memory(exchange);
		return NULL;
	}
	background->exchange = exchange;
	background->id = id;
	exchange->task = background;
	exchange->on_end = on_end;
	return background;
}

static void on_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct background *background = owner;

	(void)rpc;
	(void)why;
	background->rpc = NULL;
}

/* Take the channel. False: the request was answered. */
static bool open_channel(struct background *background, int *fd)
{
	const struct rpc_config config = {.owner = background,
					  .on_closed = on_gone};
	struct exchange *exchange = background->exchange;
	struct err err;

	background->rpc =
		rpc_new(exchange_loop(exchange), take_fd(fd), &config, &err);
	if (!background->rpc)
		exchange_fail(exchange, 500, "INTERNAL", "%s", err.text);
	return background->rpc != NULL;
}

static void ask(struct background *background, const struct rpc_call *call)
{
	struct err err;

	if (rpc_ask(background->rpc, call, NULL, &err) < 0)
		gone_fail_unsent(background->exchange, &err);
}

/* Is it a good answer? Else the request is answered. */
static bool is_answer(struct background *background,
		      const struct rpc_outcome *outcome)
{
	const struct rpc_refusal *refusal = outcome->refusal;

	if (background->is_over)
		return false;
	if (refusal && refusal->code == HOST_REFUSED_MISSING)
		exchange_fail(background->exchange, 404, "CONTEXT_NOT_FOUND",
			      "there is no such command");
	else if (outcome->err)
		gone_fail_outcome(background->exchange, outcome);
	return !outcome->err;
}

/* ---- one that begins ---- */

static void on_started(struct rpc_outcome *outcome, void *owner)
{
	struct background *background = owner;
	const char *id = (const char *)background->id.data;

	if (!is_answer(background, outcome))
		return;
	/* From now on it is known, and needs nobody who waits. */
	close_channel(background);
	if (sse_begin(&background->sse, background->exchange, id) == 0)
		sse_complete(&background->sse);
}

static void on_kept(struct rpc_outcome *outcome, void *owner)
{
	static const struct wire_empty empty = {0};
	struct background *background = owner;
	const struct background_ref *ref = outcome->message;
	struct rpc_call call = {
		.type = MSG_EXEC_START,
		.schema = &wire_empty_schema,
		.message = &empty,
		.reply_schema = &exec_started_schema,
		.timeout_ms = EXEC_START_MS,
		.on_outcome = on_started,
		.owner = background,
	};
	auto_fd int sealed = -1;
	struct err err;

	if (!is_answer(background, outcome))
		return;
	background->id =
		bytes_str(arena_str(background->exchange->arena, ref->id));
	sealed = exec_request_seal(&background->run.request, &err);
	if (!background->id.data) {
		exchange_fail_memory(background->exchange);
	} else if (sealed < 0) {
		execd_fail_err(background->exchange, &err);
	} else {
		call.fd = sealed;
		ask(background, &call);
	}
}

static void on_exec(struct exchange *exchange, const void *message, int *fd)
{
	struct background *background = exchange->task;
	struct bytes text = background->run.text;
	const struct exec_keep keep = {bytes_slice(
		text, 0, lines_shown_len(text, BACKGROUND_TEXT_MAX))};
	const struct rpc_call call = {
		.type = MSG_EXEC_KEEP,
		.schema = &exec_keep_schema,
		.message = &keep,
		.fd = -1,
		.reply_schema = &background_ref_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_kept,
		.owner = background,
	};

	(void)message;
	if (open_channel(background, fd))
		ask(background, &call);
}

void background_run(struct exchange *exchange, const struct run_spec *spec)
{
	struct background *background = begin(exchange, (struct bytes){0});

	if (!background)
		return;
	background->run = *spec;
	exchange_channel(exchange, HOST_CHANNEL_EXEC, on_exec);
}

/* ---- one that is there ---- */

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct background *background = exchange->task;

	(void)message;
	if (open_channel(background, fd))
		ask(background, &background->call);
}

static void ask_of(struct exchange *exchange, struct bytes id, uint64_t cursor,
		   const struct rpc_call *call)
{
	struct background *background;

	if (id.len > BACKGROUND_ID_MAX) {
		exchange_fail(exchange, 404, "CONTEXT_NOT_FOUND",
			      "there is no such command");
		return;
	}
	background = begin(exchange, id);
	if (!background)
		return;
	background->ref.id = id;
	background->from = (struct background_from){id, cursor};
	background->call = *call;
	background->call.message = call->type == MSG_BACKGROUND_READ
					   ? (void *)&background->from
					   : &background->ref;
	background->call.fd = -1;
	background->call.timeout_ms = EXCHANGE_ASK_MS;
	background->call.owner = background;
	exchange_channel(exchange, HOST_CHANNEL_BACKGROUND, on_channel);
}

static void on_state(struct rpc_outcome *outcome, void *owner)
{
	struct background *background = owner;
	const struct background_state *state = outcome->message;
	struct command_shown shown;
	const char *text, *reason;

	if (!is_answer(background, outcome))
		return;
	text = arena_str(background->exchange->arena, state->text);
	reason = arena_str(background->exchange->arena, state->reason);
	if (!text || !reason) {
		exchange_fail_memory(background->exchange);
		return;
	}
	shown = (struct command_shown){
		.id = background->id,
		.text = text,
		.is_running = state->is_running,
		.exit_code = state->signal ? -1 : (int)state->exit_code,
		.started_ms = state->started_ms,
		.finished_ms = state->finished_ms,
		.reason = reason,
	};
	command_reply(background->exchange, &shown);
}

void background_status(struct exchange *exchange, struct bytes id)
{
	static const struct rpc_call call = {
		.type = MSG_BACKGROUND_SHOW,
		.schema = &background_ref_schema,
		.reply_schema = &background_state_schema,
		.on_outcome = on_state,
	};

	ask_of(exchange, id, 0, &call);
}

static void reply_output(struct exchange *exchange,
			 const struct background_output *output,
			 struct bytes bytes)
{
	auto_type(buf_release) struct buf text;
	char next[24];

	/* A character that is not all there yet comes with the next ones. */
	if (output->is_running)
		bytes.len = lines_whole_len(bytes);
	buf_init(&text, 3 * (size_t)BACKGROUND_OUTPUT_MAX);
	if (lines_add_text(bytes, &text) < 0) {
		exchange_fail_memory(exchange);
		return;
	}
	(void)snprintf(next, sizeof(next), "%llu",
		       (unsigned long long)(output->start + bytes.len));
	exchange_add_field(exchange, CURSOR_FIELD, bytes_str(next));
	exchange_reply_bytes(exchange, 200, "text/plain; charset=utf-8",
			     buf_view(&text));
}

static void on_output(struct rpc_outcome *outcome, void *owner)
{
	struct background *background = owner;
	struct bytes bytes = {0};
	struct err err;

	if (!is_answer(background, outcome))
		return;
	if (outcome->fd >= 0 &&
	    wire_memfd_map(outcome->fd, BACKGROUND_OUTPUT_MAX, &bytes, &err) <
		    0) {
		exchange_fail(background->exchange, 502, "RUNTIME_ERROR", "%s",
			      err.text);
		return;
	}
	reply_output(background->exchange, outcome->message, bytes);
	if (outcome->fd >= 0)
		wire_memfd_unmap(bytes);
}

void background_logs(struct exchange *exchange, struct bytes id)
{
	static const struct rpc_call call = {
		.type = MSG_BACKGROUND_READ,
		.schema = &background_from_schema,
		.reply_schema = &background_output_schema,
		.on_outcome = on_output,
	};
	uint64_t cursor = 0;

	if (exchange_query_number(exchange, "cursor", CURSOR_MAX, &cursor))
		ask_of(exchange, id, cursor, &call);
}

static void on_stopped(struct rpc_outcome *outcome, void *owner)
{
	struct background *background = owner;

	if (is_answer(background, outcome))
		exchange_reply_empty(background->exchange, 200);
}

void background_stop(struct exchange *exchange, struct bytes id)
{
	static const struct rpc_call call = {
		.type = MSG_BACKGROUND_STOP,
		.schema = &background_ref_schema,
		.reply_schema = &wire_empty_schema,
		.on_outcome = on_stopped,
	};

	ask_of(exchange, id, 0, &call);
}
