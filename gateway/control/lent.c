/*
 * Values that are lent to one session: sealed in the vault, gone with the
 * session, never read back. Its policy names them with POLICY_LENT.
 */
#include "common/secret.h"
#include "gateway/control/handlers.h"
#include "gateway/control/vault_change.h"

static bool is_named(struct conn *conn)
{
	if (conn->params.name.len > 0 && conn->params.name.len <= LENT_NAME_MAX)
		return true;
	conn_refuse(conn, 400, "?name= has 1 to %d characters", LENT_NAME_MAX);
	return false;
}

static void ask(struct conn *conn, const char *verb, uint16_t type,
		struct bytes value)
{
	const struct msg_lent message = {
		.session = conn->session->id,
		.name = conn->params.name,
		.value = value,
	};
	const struct vault_change change = {
		.verb = verb,
		.session = message.session,
		.name = message.name,
		.type = type,
		.schema = &msg_lent_schema,
		.message = &message,
	};

	/* The channel copies it, and wipes its copy once it is sent. */
	vault_change_ask(conn, &change);
}

void handle_session_secret_put(struct conn *conn)
{
	struct secret value;
	struct err err;

	if (!is_named(conn))
		return;
	if (buf_len(&conn->http.body) == 0) {
		conn_refuse(conn, 400, "the secret is empty");
		return;
	}
	if (secret_of_body(conn, &value, &err) < 0) {
		conn_refuse(conn, 503, "%s", err.text);
		return;
	}
	ask(conn, "session.secret.put", MSG_LENT_PUT, secret_view(&value));
	secret_release(&value);
}

void handle_session_secret_remove(struct conn *conn)
{
	if (is_named(conn))
		ask(conn, "session.secret.remove", MSG_LENT_REMOVE,
		    bytes_from(NULL, 0));
}
