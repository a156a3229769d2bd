#include "common/cleanup.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"
#include "gateway/control/session_check.h"
#include "gateway/control/signer.h"

#define SESSIONS_LISTED_MAX 1000

/* ---- list ---- */

struct list_task {
	json_t *rows;
	uint32_t asked; /* so many were told */
};

static json_t *row_of(const struct msg_session *session)
{
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:b, s:o}", "id",
		json_text(session->id), "repo", json_text(session->repo),
		"branch", json_text(session->branch), "policy_name",
		json_text(session->policy_name), "owner_uid",
		(json_int_t)session->owner_uid, "created",
		json_time(session->created_ms), "expires",
		json_time(session->expires_ms), "edge_pid",
		(json_int_t)session->edge_pid, "edge_restarts",
		(json_int_t)session->edge_restarts, "revoked",
		session->is_revoked, "permissions",
		json_words(session->permitted));
}

static void ask_more(struct conn *conn);

static void on_sessions(struct conn *conn, const void *message)
{
	const struct msg_session_list *list = message;
	struct list_task *task = conn->task;
	json_t *rows = task->rows;

	for (size_t i = 0; i < list->sessions_count; i++)
		(void)json_array_append_new(rows, row_of(&list->sessions[i]));
	task->asked += (uint32_t)list->sessions_count;
	if (list->sessions_count > 0 && task->asked < list->total &&
	    task->asked < SESSIONS_LISTED_MAX) {
		ask_more(conn);
		return;
	}
	conn_reply_json(conn, 200,
			json_pack("{s:O, s:I}", "sessions", rows, "total",
				  (json_int_t)list->total));
}

static void ask_more(struct conn *conn)
{
	const struct list_task *task = conn->task;
	const struct msg_session_query query = {
		.of_owner = !conn->who.is_admin,
		.owner_uid = conn->who.uid,
		.skip = task->asked,
	};
	struct question question = session_question(&query);

	conn_ask(conn, &question, on_sessions);
}

static void list_end(struct conn *conn)
{
	struct list_task *task = conn->task;

	json_decref(task->rows);
}

void handle_session_list(struct conn *conn)
{
	struct list_task *task = arena_alloc(&conn->http.arena, sizeof(*task));

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	task->rows = json_array();
	conn->task = task;
	conn->on_end = list_end;
	ask_more(conn);
}

/* ---- show ---- */

static void show_end(struct conn *conn)
{
	json_decref(conn->task);
}

static void on_signer(struct conn *conn, const void *message)
{
	json_t *row = conn->task;

	(void)json_object_set_new(row, "signing", signer_json(message));
	conn_reply_json(conn, 200, json_incref(row));
}

void handle_session_show(struct conn *conn)
{
	json_t *row = row_of(conn->session);

	if (!conn->session->signs) {
		(void)json_object_set_new(row, "signing", json_null());
		conn_reply_json(conn, 200, row);
		return;
	}
	conn->task = row;
	conn->on_end = show_end;
	signer_ask(conn, conn->name, false, on_signer);
}

/* ---- end ---- */

static void record_end(struct conn *conn, struct bytes reason)
{
	const char *detail = arena_format(&conn->http.arena, "uid %u: %.*s",
					  conn->who.uid, BYTES_ARGS(reason));
	const struct record record = {
		.kind = RECORD_ADMIN,
		.allowed = true,
		.session = conn->session->id,
		.host = bytes_str("control"),
		.method = bytes_str("session.end"),
		.detail = bytes_str(detail),
	};

	(void)keeper_record(conn->control->keeper, &record);
}

static void on_ended(struct conn *conn, const void *message)
{
	(void)message;
	conn_reply_empty(conn);
}

void handle_session_end(struct conn *conn)
{
	struct bytes reason = conn->params.reason;
	struct msg_session_ref message = {.id = conn->name};
	struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_SESSION_REVOKE,
		.schema = &msg_session_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	if (reason.len == 0)
		reason = bytes_str("revoked");
	if (!bytes_is(reason, "revoked") && !bytes_is(reason, "ended")) {
		conn_refuse(conn, 400, "reason is \"revoked\" or \"ended\"");
		return;
	}
	message.reason = reason;
	record_end(conn, reason);
	conn_ask(conn, &question, on_ended);
}
