#include "sandbox-host/api/gone.h"

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;

	(void)fd;
	if (sandbox->state == HOST_RUNNING)
		exchange_fail(exchange, 503, "UNAVAILABLE", "%s",
			      exchange->gone);
	else
		exchange_fail(exchange, 409, "INVALID_STATE",
			      "the sandbox is %s",
			      host_state_name(sandbox->state));
}

void gone_fail(struct exchange *exchange, const char *why)
{
	const struct host_ref ref = {.id = exchange->sandbox};
	const struct exchange_question question = {
		.type = MSG_HOST_SHOW,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
	};

	if (exchange->gone)
		return;
	exchange->gone = why ? why : "no memory";
	/* Nobody takes what still comes of it. */
	exchange_body_pause(exchange, true);
	exchange->on_refused = NULL;
	exchange_ask(exchange, &question, on_shown);
}

void gone_fail_outcome(struct exchange *exchange,
		       const struct rpc_outcome *outcome)
{
	if (!outcome->refusal && outcome->err->code == ERR_CLOSED)
		gone_fail(exchange, "the sandbox does not answer");
	else
		exchange_fail_outcome(exchange, outcome);
}

void gone_fail_unsent(struct exchange *exchange, const struct err *err)
{
	gone_fail_outcome(exchange,
			  &(struct rpc_outcome){.err = err, .fd = -1});
}
