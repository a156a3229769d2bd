/*
 * The gateway's configuration: shown, and read again from its file. Both are
 * the warden's to do.
 */
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

#define SHOWN_MAX (8 * 1024 * 1024)

/* ---- shown ---- */

static void reply_text(struct conn *conn, int fd)
{
	struct bytes text;
	struct err err;

	if (wire_memfd_map(fd, SHOWN_MAX, &text, &err) < 0) {
		conn_refuse(conn, 503, "%s", err.text);
		return;
	}
	conn_reply_json(conn, 200, json_pack("{s:o}", "text", json_text(text)));
	wire_memfd_unmap(text);
}

static void on_text(struct rpc_outcome *outcome, void *owner)
{
	struct conn *conn = owner;

	conn->ask = NULL;
	if (outcome->err)
		conn_refuse_outcome(conn, outcome);
	else
		reply_text(conn, outcome->fd);
}

void handle_config_show(struct conn *conn)
{
	const struct wire_empty empty = {0};
	const struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_CONFIG_SHOW,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.fn = on_text,
		.owner = conn,
	};
	struct err err;

	conn->ask = ask_send(conn->control, &question, &err);
	if (!conn->ask)
		conn_refuse(conn, err.code == ERR_TOO_LARGE ? 429 : 503, "%s",
			    err.text);
}

/* ---- read again ---- */

static void on_reloaded(struct conn *conn, const void *message)
{
	const struct msg_config_reloaded *reloaded = message;
	const char *why;

	if (reloaded->holds) {
		conn_reply_json(conn, 200,
				json_pack("{s:o}", "taken",
					  json_text(reloaded->taken)));
		return;
	}
	why = arena_format(&conn->http.arena, "all is as it was: %.*s",
			   BYTES_ARGS(reloaded->why));
	conn_refuse_errors(conn, 422, why ? why : "all is as it was",
			   reloaded->errors);
}

void handle_config_reload(struct conn *conn)
{
	const char *detail =
		arena_format(&conn->http.arena, "uid %u", conn->who.uid);
	const struct record record = {
		.kind = RECORD_ADMIN,
		.allowed = true,
		.host = bytes_str("control"),
		.method = bytes_str("config.reload"),
		.detail = bytes_str(detail ? detail : ""),
	};
	const struct wire_empty empty = {0};
	struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_CONFIG_RELOAD,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_config_reloaded_schema,
	};

	if (keeper_record(conn->control->keeper, &record) < 0)
		conn_refuse(conn, 503, "the record could not be kept");
	else
		conn_ask(conn, &question, on_reloaded);
}
