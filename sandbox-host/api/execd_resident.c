#include "sandbox-host/api/execd_resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/api/gone.h"

/* How each kind is told. */
static const char *const names[RESIDENT_KIND_MAX] = {
	[RESIDENT_TERMINAL] = "terminal",
	[RESIDENT_CONTEXT] = "context",
};

bool resident_is_answer(struct exchange *exchange, enum resident_kind kind,
			const struct rpc_outcome *outcome)
{
	const struct rpc_refusal *refusal = outcome->refusal;

	if (refusal && refusal->code == HOST_REFUSED_MISSING)
		execd_fail_missing(exchange, names[kind]);
	else if (outcome->err)
		gone_fail_outcome(exchange, outcome);
	return !outcome->err;
}

/* ---- one question ---- */

/* Of the exchange, and of the call that its channel may still end. */
struct question {
	struct exchange *exchange;
	struct rpc *rpc; /* NULL: there is none yet, or it was closed */
	struct rpc_call call;
	exchange_answer_fn *on_answer;
	enum resident_kind kind;
	bool is_over;
};

static void free_question(void *owner)
{
	struct question *question = owner;

	if (question->call.fd >= 0)
		(void)close(question->call.fd);
	free(question);
}

static void on_end(struct exchange *exchange)
{
	struct question *question = exchange->task;

	question->is_over = true;
	if (question->rpc)
		rpc_close(question->rpc);
	question->rpc = NULL;
	(void)io_loop_defer(exchange_loop(exchange), free_question, question);
}

static void on_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct question *question = owner;

	(void)rpc;
	(void)why;
	question->rpc = NULL;
}

static void on_answered(struct rpc_outcome *outcome, void *owner)
{
	struct question *question = owner;

	if (!question->is_over &&
	    resident_is_answer(question->exchange, question->kind, outcome))
		question->on_answer(question->exchange, outcome->message,
				    &outcome->fd);
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct question *question = exchange->task;
	const struct rpc_config config = {.owner = question,
					  .on_closed = on_gone};
	struct err err;

	(void)message;
	question->rpc =
		rpc_new(exchange_loop(exchange), take_fd(fd), &config, &err);
	if (!question->rpc)
		exchange_fail(exchange, 500, "INTERNAL", "%s", err.text);
	else if (rpc_ask(question->rpc, &question->call, NULL, &err) < 0)
		gone_fail_unsent(exchange, &err);
}

void resident_ask(struct exchange *exchange, enum resident_kind kind,
		  const struct exchange_question *asked,
		  exchange_answer_fn *on_answer)
{
	struct question *question = calloc(1, sizeof(*question));
	void *message = arena_alloc(exchange->arena, asked->schema->size);

	if (!question || !message) {
		free(question);
		if (asked->fd >= 0)
			(void)close(asked->fd);
		exchange_fail_memory(exchange);
		return;
	}
	memcpy(message, asked->message, asked->schema->size);
	*question = (struct question){
		.exchange = exchange,
		.call = {.type = asked->type,
			 .schema = asked->schema,
			 .message = message,
			 .fd = asked->fd,
			 .reply_schema = asked->reply_schema,
			 .timeout_ms = EXCHANGE_ASK_MS,
			 .on_outcome = on_answered,
			 .owner = question},
		.on_answer = on_answer,
		.kind = kind,
	};
	exchange->task = question;
	exchange->on_end = on_end;
	exchange_channel(exchange, HOST_CHANNEL_RESIDENT, on_channel);
}
