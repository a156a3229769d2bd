/*
 * The fake vault.
 */
#ifndef TESTS_CONTROL_FAKES_VAULT_H
#define TESTS_CONTROL_FAKES_VAULT_H

#include "tests/unit/gateway/control/fakes.h"

static inline void rig_on_put(struct rpc_ticket ticket, const void *message,
			      int *fd, void *owner)
{
	const struct msg_secret *secret = message;
	struct rig *rig = owner;

	(void)fd;
	(void)snprintf(rig->secret, sizeof(rig->secret), "%.*s=%.*s",
		       BYTES_ARGS(secret->name), BYTES_ARGS(secret->value));
	if (!rig_refuses(rig, ticket))
		rig_reply_empty(ticket);
}

static inline void rig_on_signer(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	struct rig *rig = owner;
	const struct msg_signer signer = {
		.is_on = true,
		.name = bytes_str("A B"),
		.email = bytes_str("a@b"),
		.public_key = bytes_str(rig->signer_key),
		.why = bytes_str(rig->signer_key ? "" : "no such secret"),
	};

	(void)message;
	(void)fd;
	rig->held = ticket;
	if (rig->is_silent)
		rpc_ticket_hold(ticket);
	else if (rig->refuse_signer)
		rpc_refuse(ticket, rig->refuse_signer, "refused by the rig");
	else
		rpc_reply(ticket, &msg_signer_schema, &signer, -1);
}

#endif
