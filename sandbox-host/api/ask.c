#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/api/conn.h"

struct asked {
	struct exchange *exchange;
	exchange_answer_fn *on_answer;
	uint32_t id;
};

void asked_forget(struct exchange *exchange)
{
	if (!exchange->asked)
		return;
	rpc_cancel(exchange->api->daemon, exchange->asked->id);
	free(exchange->asked);
	exchange->asked = NULL;
}

void exchange_fail_outcome(struct exchange *exchange,
			   const struct rpc_outcome *outcome)
{
	static const struct {
		unsigned status;
		const char *code;
	} answers[HOST_REFUSAL_MAX] = {
		[0] = {500, "INTERNAL"},
		[HOST_REFUSED] = {500, "INTERNAL"},
		[HOST_REFUSED_INVALID] = {400, "INVALID_REQUEST"},
		[HOST_REFUSED_MISSING] = {404, "SANDBOX_NOT_FOUND"},
		[HOST_REFUSED_STATE] = {409, "INVALID_STATE"},
		[HOST_REFUSED_FULL] = {429, "LIMIT_REACHED"},
		[HOST_REFUSED_FORBIDDEN] = {403, "FORBIDDEN"},
		[HOST_REFUSED_UNSUPPORTED] = {501, "NOT_SUPPORTED"},
		[HOST_REFUSED_UNREACHABLE] = {503, "UNAVAILABLE"},
	};
	const struct rpc_refusal *refusal = outcome->refusal;

	if (refusal && refusal->code < HOST_REFUSAL_MAX)
		exchange_fail(exchange, answers[refusal->code].status,
			      answers[refusal->code].code, "%.*s",
			      BYTES_ARGS(refusal->detail));
	else if (outcome->err && outcome->err->code == ERR_TIMEOUT)
		exchange_fail(exchange, 504, "TIMEOUT", "it took too long");
	else
		exchange_fail(exchange, 503, "UNAVAILABLE",
			      "the service does not answer");
}

static void fail_outcome(struct exchange *exchange,
			 const struct rpc_outcome *outcome)
{
	if (exchange->on_refused)
		exchange->on_refused(exchange, outcome);
	else
		exchange_fail_outcome(exchange, outcome);
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct asked *asked = owner;
	struct exchange *exchange = asked->exchange;
	exchange_answer_fn *on_answer = asked->on_answer;

	exchange->asked = NULL;
	free(asked);
	if (outcome->err)
		fail_outcome(exchange, outcome);
	else
		on_answer(exchange, outcome->message, &outcome->fd);
}

void exchange_ask(struct exchange *exchange,
		  const struct exchange_question *question,
		  exchange_answer_fn *on_answer)
{
	struct asked *asked = calloc(1, sizeof(*asked));
	struct err err;
	struct rpc_call call = {
		.type = question->type,
		.schema = question->schema,
		.message = question->message,
		.fd = question->fd,
		.reply_schema = question->reply_schema,
		.timeout_ms = question->timeout_ms ? question->timeout_ms
						   : EXCHANGE_ASK_MS,
		.on_outcome = on_outcome,
		.owner = asked,
	};

	assert(!exchange->asked);
	if (!asked) {
		exchange_fail_memory(exchange);
		return;
	}
	*asked = (struct asked){exchange, on_answer, 0};
	if (rpc_ask(exchange->api->daemon, &call, &asked->id, &err) == 0) {
		exchange->asked = asked;
		return;
	}
	free(asked);
	fail_outcome(exchange, &(struct rpc_outcome){.err = &err, .fd = -1});
}

void exchange_channel(struct exchange *exchange, enum host_channel_kind kind,
		      exchange_answer_fn *on_answer)
{
	const struct host_channel channel = {
		.id = exchange->sandbox,
		.kind = (uint8_t)kind,
	};
	const struct exchange_question question = {
		.type = MSG_HOST_CHANNEL,
		.schema = &host_channel_schema,
		.message = &channel,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	exchange_ask(exchange, &question, on_answer);
}
