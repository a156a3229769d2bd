#include "common/secret.h"
#include "gateway/control/handlers.h"
#include "gateway/control/vault_change.h"

static bool is_name_too_long(struct conn *conn)
{
	if (conn->name.len <= SECRET_NAME_MAX)
		return false;
	conn_refuse(conn, 400, "a secret's name has at most %d characters",
		    SECRET_NAME_MAX);
	return true;
}

/* ---- put ---- */

int secret_of_body(struct conn *conn, struct secret *value, struct err *err)
{
	int taken;

	secret_init(value);
	taken = secret_set(value, buf_view(&conn->http.body), err);
	secret_wipe(conn->http.body.data, conn->http.body.end);
	buf_clear(&conn->http.body);
	return taken;
}

static void keep_value(struct conn *conn, uint16_t type, const char *verb)
{
	struct secret value;
	struct msg_secret message = {.name = conn->name};
	const struct vault_change change = {
		.verb = verb,
		.name = conn->name,
		.type = type,
		.schema = &msg_secret_schema,
		.message = &message,
	};
	struct err err;

	if (is_name_too_long(conn))
		return;
	if (buf_len(&conn->http.body) == 0) {
		conn_refuse(conn, 400, "the secret is empty");
		return;
	}
	if (secret_of_body(conn, &value, &err) < 0) {
		conn_refuse(conn, 503, "%s", err.text);
		return;
	}
	message.value = secret_view(&value);
	/* The channel copies it, and wipes its copy once it is sent. */
	vault_change_ask(conn, &change);
	secret_release(&value);
}

void handle_secret_put(struct conn *conn)
{
	keep_value(conn, MSG_SECRET_PUT, "secret.put");
}

void handle_secret_rotate(struct conn *conn)
{
	keep_value(conn, MSG_SECRET_ROTATE, "secret.rotate");
}

/* ---- the vault's key ---- */

void handle_key_rotate(struct conn *conn)
{
	const struct wire_empty empty = {0};
	const struct vault_change change = {
		.verb = "vault.key.rotate",
		.type = MSG_KEY_ROTATE,
		.schema = &wire_empty_schema,
		.message = &empty,
	};

	vault_change_ask(conn, &change);
}

/* ---- remove ---- */

void handle_secret_remove(struct conn *conn)
{
	const struct msg_secret_name message = {.name = conn->name};
	const struct vault_change change = {
		.verb = "secret.remove",
		.name = conn->name,
		.type = MSG_SECRET_REMOVE,
		.schema = &msg_secret_name_schema,
		.message = &message,
	};

	if (!is_name_too_long(conn))
		vault_change_ask(conn, &change);
}
