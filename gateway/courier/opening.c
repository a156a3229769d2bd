/*
 * The token of a leg whose binding is a client certificate: it is wanted
 * before there is a request, for the handshake.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/courier/certificate.h"
#include "gateway/courier/courier.h"

struct opening {
	struct leg *leg; /* NULL: nobody waits any more */
};

void opening_cancel(struct opening *opening)
{
	opening->leg = NULL;
}

static void use_token(struct leg *leg, struct bytes pem)
{
	struct certificate certificate;
	struct err err;

	if (certificate_read(&certificate, pem, &err) < 0)
		leg_fail_opening(leg, CONSTRAINT_credential_unavailable,
				 err.text);
	else if (leg_start_tls(leg, &certificate, &err) < 0)
		leg_fail_opening(leg, tls_client_constraint(&err), err.text);
	certificate_release(&certificate);
}

static void on_token(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_token *token = outcome->message;
	auto_free struct opening *opening = owner;
	struct leg *leg = opening->leg;

	if (!leg)
		return;
	leg->opening = NULL;
	if (outcome->err)
		leg_fail_opening(leg, CONSTRAINT_credential_unavailable,
				 outcome->err->text);
	else
		use_token(leg, token->secret);
}

int leg_ask_token(struct leg *leg, rpc_outcome_fn *on_outcome, void *owner,
		  struct err *err)
{
	struct keeper_peer *vault =
		keeper_peer_of(leg->courier->keeper, ROLE_VAULT);
	const struct msg_token_get message = {
		.session = bytes_str(leg->session),
		.binding = bytes_str(leg->binding),
		.host = bytes_str(leg->target.host),
		.port = leg->target.port,
		.mark = bytes_from(leg->mark, sizeof(leg->mark)),
	};
	const struct rpc_call call = {
		.type = MSG_TOKEN_GET,
		.schema = &msg_token_get_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_token_schema,
		.timeout_ms = TOKEN_TIMEOUT_MS,
		.on_outcome = on_outcome,
		.owner = owner,
	};

	if (!vault)
		return err_set(err, ERR_CLOSED, "the vault is being restarted");
	return rpc_ask(vault->rpc, &call, NULL, err);
}

int opening_start(struct leg *leg, struct err *err)
{
	auto_free struct opening *opening = calloc(1, sizeof(*opening));

	if (!opening)
		return err_set(err, ERR_TOO_LARGE, "memory is out");
	if (leg_ask_token(leg, on_token, opening, err) < 0)
		return -1;
	opening->leg = leg;
	leg->opening = take_ptr(&opening);
	return 0;
}
