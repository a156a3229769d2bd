#include "gateway/control/handlers.h"
#include "gateway/control/ledger_query.h"

/* GET /v1/audit: rows as JSON lines, 64 at a time, the next once there is
 * room. */

struct audit_task {
	struct msg_ledger_query query;
	uint64_t left; /* rows that were asked for */
	bool is_begun;
};

static void ask_rows(struct conn *conn);

static void on_room(struct conn *conn)
{
	if (!conn->ask)
		ask_rows(conn);
}

static void on_rows(struct conn *conn, const void *message)
{
	const struct msg_ledger_rows *rows = message;
	struct audit_task *task = conn->task;

	if (!task->is_begun) {
		task->is_begun = true;
		if (conn_stream_begin(conn, on_room) < 0)
			return;
	}
	for (size_t i = 0; i < rows->rows_count; i++) {
		task->query.after = rows->rows[i].sequence;
		if (conn_stream_line(conn, rows->rows[i].json) < 0)
			return;
	}
	task->left -= rows->rows_count;
	if (!rows->more || rows->rows_count == 0 || task->left == 0 ||
	    task->query.newest)
		http_conn_stream_end(&conn->http);
	else if (!http_conn_is_full(&conn->http))
		ask_rows(conn);
}

static void ask_rows(struct conn *conn)
{
	struct audit_task *task = conn->task;
	struct question question = ledger_question(&task->query);

	task->query.limit = task->left < LEDGER_ROWS_MAX ? (uint32_t)task->left
							 : LEDGER_ROWS_MAX;
	conn_ask(conn, &question, on_rows);
}

void handle_audit(struct conn *conn)
{
	const struct params *params = &conn->params;
	struct audit_task *task = arena_alloc(&conn->http.arena, sizeof(*task));

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	if (params->session.len > SESSION_ID_MAX) {
		conn_refuse(conn, 400, "there is no such session");
		return;
	}
	if (params->kind.len &&
	    record_kind_from_name(params->kind) == RECORD_KIND_MAX) {
#define X(kind, name) " " name
		conn_refuse(conn, 400, "the kinds of records are:%s",
			    RECORD_KINDS(X));
#undef X
		return;
	}
	task->query = (struct msg_ledger_query){
		.after = params->after,
		.newest = params->newest,
		.before = params->before,
		.session = params->session,
		.kind = params->kind,
		.denied_only = params->denied,
	};
	task->left = params->given & PARAM_LIMIT ? params->limit : UINT64_MAX;
	conn->task = task;
	ask_rows(conn);
}
