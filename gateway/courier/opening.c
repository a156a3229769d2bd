/*
 * The token of a leg whose binding is a client certificate: it is wanted
 * before there is a request, for the handshake. That uses the credential, so
 * it is on record before.
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

static void fail(struct leg *leg, enum constraint constraint, const char *why)
{
	leg->opening = NULL;
	leg_fail_opening(leg, constraint, why);
}

static void on_recorded(bool ok, void *owner)
{
	auto_free struct opening *opening = owner;
	struct leg *leg = opening->leg;
	struct err err;

	if (!leg)
		return;
	if (!ok)
		fail(leg, CONSTRAINT_audit_unavailable,
		     "the use could not be recorded");
	else if (leg_ask_token(leg, on_token, opening, &err) < 0)
		fail(leg, CONSTRAINT_credential_unavailable, err.text);
	else
		(void)take_ptr(&opening);
}

void opening_start(struct leg *leg)
{
	auto_free struct opening *opening = calloc(1, sizeof(*opening));
	const struct record record = {
		.kind = RECORD_SECRET_USE,
		.allowed = true,
		.session = bytes_str(leg->session),
		.host = bytes_str(leg->target.host),
		.port = leg->target.port,
		.method = bytes_str("TLS"),
		.credential = bytes_str(leg->binding),
		.detail = bytes_str("the client certificate is shown"),
	};

	if (!opening) {
		fail(leg, CONSTRAINT_internal, "memory is out");
		return;
	}
	opening->leg = leg;
	if (keeper_record_durable(leg->courier->keeper, &record, on_recorded,
				  opening) < 0) {
		fail(leg, CONSTRAINT_audit_unavailable,
		     "the use could not be recorded");
		return;
	}
	leg->opening = take_ptr(&opening);
}
