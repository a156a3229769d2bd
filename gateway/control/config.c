/*
 * The gateway's configuration: shown, and read again from its file. Both are
 * the warden's to do.
 */
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

#define SHOWN_MAX (8 * 1024 * 1024)

/* ---- shown, a part at a time ---- */

struct show_task {
	struct buf text;
};

static void show_end(struct conn *conn)
{
	struct show_task *task = conn->task;

	buf_release(&task->text);
}

static void ask_text(struct conn *conn);

static void on_text(struct conn *conn, const void *message)
{
	const struct msg_config_text *part = message;
	struct show_task *task = conn->task;

	if (buf_add(&task->text, part->text) < 0)
		conn_refuse(conn, 503, "the configuration is too long");
	else if (part->more)
		ask_text(conn);
	else
		conn_reply_json(conn, 200,
				json_pack("{s:o}", "text",
					  json_text(buf_view(&task->text))));
}

static void ask_text(struct conn *conn)
{
	const struct show_task *task = conn->task;
	const struct msg_config_query query = {
		.from = (uint32_t)buf_len(&task->text),
	};
	struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_CONFIG_SHOW,
		.schema = &msg_config_query_schema,
		.message = &query,
		.fd = -1,
		.reply_schema = &msg_config_text_schema,
	};

	conn_ask(conn, &question, on_text);
}

void handle_config_show(struct conn *conn)
{
	struct show_task *task = arena_alloc(&conn->http.arena, sizeof(*task));

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	buf_init(&task->text, SHOWN_MAX);
	conn->task = task;
	conn->on_end = show_end;
	ask_text(conn);
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
