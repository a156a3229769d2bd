#include "gateway/upstream/dial.h"

#include <stdlib.h>

#include "common/cleanup.h"

struct dial {
	dial_fn *fn; /* NULL once cancelled */
	void *owner;
};

enum constraint constraint_of_outcome(const struct rpc_outcome *outcome)
{
	if (outcome->refusal && outcome->refusal->code < CONSTRAINT_MAX &&
	    outcome->refusal->code != CONSTRAINT_none)
		return (enum constraint)outcome->refusal->code;
	return CONSTRAINT_internal;
}

enum constraint constraint_of_connecting(const struct rpc_outcome *outcome)
{
	return outcome->err->code == ERR_TIMEOUT
		       ? CONSTRAINT_connect_timeout
		       : constraint_of_outcome(outcome);
}

static void on_dialed(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct dial *dial = owner;
	struct dial_outcome result = {.fd = -1};

	if (outcome->err) {
		result.constraint = constraint_of_connecting(outcome);
		result.detail = outcome->refusal
					? outcome->refusal->detail
					: bytes_str(outcome->err->text);
	} else {
		const struct msg_dialed *dialed = outcome->message;

		result.detail = dialed->address;
		result.fd = take_fd(&outcome->fd);
		if (result.fd < 0)
			result.constraint = CONSTRAINT_internal;
	}
	if (dial->fn)
		dial->fn(&result, dial->owner);
	if (result.fd >= 0)
		(void)close(result.fd);
}

struct dial *dial_start(struct keeper *keeper, const struct target *target,
			dial_fn *fn, void *owner, struct err *err)
{
	struct keeper_peer *dialer = keeper_peer_of(keeper, ROLE_DIALER);
	auto_free struct dial *dial = calloc(1, sizeof(*dial));
	const struct msg_dial message = {
		.host = bytes_str(target->host),
		.port = target->port,
	};
	const struct rpc_call call = {
		.type = MSG_DIAL,
		.schema = &msg_dial_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_dialed_schema,
		.timeout_ms = DIAL_TIMEOUT_MS,
		.on_outcome = on_dialed,
		.owner = dial,
	};

	if (!dialer || !dial) {
		(void)err_set(err, ERR_CLOSED, "the dialer is not there");
		return NULL;
	}
	dial->fn = fn;
	dial->owner = owner;
	if (rpc_ask(dialer->rpc, &call, NULL, err) < 0)
		return NULL;
	return take_ptr(&dial);
}

void dial_cancel(struct dial *dial)
{
	dial->fn = NULL;
}
