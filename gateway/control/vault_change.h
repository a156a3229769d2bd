/*
 * A change of what the vault keeps, which somebody asks for: who did, and
 * whether it came about, is recorded once the vault has answered, or can not
 * be asked, whether or not somebody still waits to hear of it. The vault's own
 * row, of what it changes and not by whom, is there before.
 */
#ifndef GATEWAY_CONTROL_VAULT_CHANGE_H
#define GATEWAY_CONTROL_VAULT_CHANGE_H

#include "gateway/control/conn.h"

struct vault_change {
	const char *verb;     /* as on record; static */
	struct bytes session; /* empty: it is of none */
	struct bytes name; /* the secret's, at most SECRET_NAME_MAX; empty: of
			    * none */
	uint16_t type;
	const struct wire_schema *schema;
	const void *message; /* is copied */
};

/* Ask the vault, record what came of it, and answer with 204 or a refusal. */
void vault_change_ask(struct conn *conn, const struct vault_change *change);

#endif
