/*
 * Values that are lent to one session: sealed in the vault, gone with the
 * session, never read back. Its policy names them with POLICY_LENT.
 */
#include "common/secret.h"
#include "gateway/control/handlers.h"

static void record_change(struct conn *conn, const char *verb)
{
	const char *detail =
		arena_format(&conn->http.arena, "uid %u", conn->who.uid);
	const struct record record = {
		.kind = RECORD_ADMIN,
		.allowed = true,
		.session = conn->session->id,
		.host = conn->params.name,
		.method = bytes_str(verb),
		.detail = bytes_str(detail),
	};

	(void)keeper_record(conn->control->keeper, &record);
}

static void on_changed(struct conn *conn, const void *message)
{
	(void)message;
	conn_reply_empty(conn);
}

static bool is_named(struct conn *conn)
{
	if (conn->params.name.len > 0 && conn->params.name.len <= LENT_NAME_MAX)
		return true;
	conn_refuse(conn, 400, "?name= has 1 to %d characters", LENT_NAME_MAX);
	return false;
}

static void ask(struct conn *conn, uint16_t type, struct bytes value)
{
	const struct msg_lent message = {
		.session = conn->session->id,
		.name = conn->params.name,
		.value = value,
	};
	struct question question = {
		.role = ROLE_VAULT,
		.type = type,
		.schema = &msg_lent_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	/* The channel copies it, and wipes its copy once it is sent. */
	conn_ask(conn, &question, on_changed);
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
	record_change(conn, "session.secret.put");
	ask(conn, MSG_LENT_PUT, secret_view(&value));
	secret_release(&value);
}

void handle_session_secret_remove(struct conn *conn)
{
	if (!is_named(conn))
		return;
	record_change(conn, "session.secret.remove");
	ask(conn, MSG_LENT_REMOVE, bytes_from(NULL, 0));
}
