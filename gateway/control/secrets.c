#include "common/secret.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

static void record_change(struct conn *conn, const char *verb)
{
	const char *detail =
		arena_format(&conn->http.arena, "uid %u", conn->who.uid);
	const struct record record = {
		.kind = RECORD_ADMIN,
		.allowed = true,
		.host = conn->name,
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
	struct question question = {
		.role = ROLE_VAULT,
		.type = type,
		.schema = &msg_secret_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
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
	record_change(conn, verb);
	message.value = secret_view(&value);
	/* The channel copies it, and wipes its copy once it is sent. */
	conn_ask(conn, &question, on_changed);
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
	struct question question = {
		.role = ROLE_VAULT,
		.type = MSG_KEY_ROTATE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	record_change(conn, "vault.key.rotate");
	conn_ask(conn, &question, on_changed);
}

/* ---- remove ---- */

void handle_secret_remove(struct conn *conn)
{
	const struct msg_secret_name message = {.name = conn->name};
	struct question question = {
		.role = ROLE_VAULT,
		.type = MSG_SECRET_REMOVE,
		.schema = &msg_secret_name_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	if (is_name_too_long(conn))
		return;
	record_change(conn, "secret.remove");
	conn_ask(conn, &question, on_changed);
}
