/*
 * Secrets in what a WebSocket's client says: found as in a body that has no
 * type. A message is searched whole, so no border of its frames hides one.
 */
#include "gateway/edge/conn.h"
#include "gateway/edge/placeholders.h"
#include "gateway/edge/websocket_lane.h"
#include "policies/inspect/inspection.h"

int websocket_search(struct conn *conn, struct bytes query,
		     struct bytes message)
{
	const struct inspect_source source = {
		.query = query,
		.body = message,
		.decoded_max = POLICY_WEBSOCKET_MESSAGE_MAX,
		.prints = conn->edge->own.prints,
		/* Worthless elsewhere, as the session's lease is. */
		.exempt = conn->law->placeholders->texts,
		.exempt_count = conn->law->placeholders->texts_count,
		.exempt_digest = conn->edge->lease_hash,
	};
	struct inspection *seen;
	const char *secret;
	bool is_clean;
	struct err err;

	if (!source.prints && own_secrets_are_wanted(conn->edge)) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "the session's own secrets are not known yet");
		return -1;
	}
	seen = inspection_new(&source, &err);
	if (!seen) {
		conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
		return -1;
	}
	secret = inspection_secret(seen);
	if (secret)
		conn_refuse(conn, CONSTRAINT_secret_in_body,
			    "the %s holds a secret or a token: %s",
			    message.len ? "message" : "query", secret);
	else if (*inspection_fault(seen))
		conn_refuse(conn, CONSTRAINT_body_unreadable, "%s",
			    inspection_fault(seen));
	is_clean = !secret && !*inspection_fault(seen);
	inspection_free(seen);
	return is_clean ? 0 : -1;
}
