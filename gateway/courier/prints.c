/*
 * Fingerprints of an edge's own session, asked of the vault for it: an edge
 * has no channel to the vault.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/courier/courier.h"

#define PRINTS_TIMEOUT_MS 5000

struct asking {
	struct rpc_ticket ticket; /* the edge's */
};

static void on_prints(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct asking *asking = owner;

	if (outcome->err)
		rpc_refuse(asking->ticket, CONSTRAINT_credential_unavailable,
			   "%s", outcome->err->text);
	else
		rpc_reply(asking->ticket, &msg_prints_schema, outcome->message,
			  -1);
}

static int ask(const struct keeper_peer *edge, struct asking *asking,
	       struct err *err)
{
	struct keeper_peer *vault = keeper_peer_of(edge->keeper, ROLE_VAULT);
	const struct msg_prints_make message = {
		.session = bytes_str(edge->session),
	};
	const struct rpc_call call = {
		.type = MSG_PRINTS_MAKE,
		.schema = &msg_prints_make_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_prints_schema,
		.timeout_ms = PRINTS_TIMEOUT_MS,
		.on_outcome = on_prints,
		.owner = asking,
	};

	if (!vault)
		return err_set(err, ERR_CLOSED, "the vault is being restarted");
	return rpc_ask(vault->rpc, &call, NULL, err);
}

void courier_answer_prints(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	struct asking *asking = calloc(1, sizeof(*asking));
	struct err err = {.text = "memory is out"};

	(void)message;
	(void)fd;
	if (asking)
		asking->ticket = ticket;
	if (asking && ask(owner, asking, &err) == 0)
		return;
	free(asking);
	rpc_refuse(ticket, CONSTRAINT_credential_unavailable, "%s", err.text);
}
