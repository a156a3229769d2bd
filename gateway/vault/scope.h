/*
 * May this session have this binding attached on the way to this host? The
 * vault's own answer, from its own copy of the session's scope; what the
 * edge and the courier decided before is not believed.
 */
#ifndef GATEWAY_VAULT_SCOPE_H
#define GATEWAY_VAULT_SCOPE_H

#include "gateway/flow/messages.h"
#include "gateway/session/session.h"

/* CONSTRAINT_none, and the binding in *binding (valid until the session's
 * package is replaced), or why not:
 *	session_revoked		no session of that id
 *	lease_expired		it has ended by wall_ms
 *	request_malformed	the host is not in its canonical form
 *	credential_unavailable	the session has no such binding, or another one
 *				of that name than the courier
 *	host_not_allowed	the binding does not go to that host and port,
 *				or the session may not reach them at all
 */
enum constraint vault_scope_check(const struct session_table *sessions,
				  const struct msg_token_get *wanted,
				  uint64_t wall_ms,
				  const struct scope_binding **binding);

#endif
