#include "gateway/control/handlers.h"
#include "gateway/control/json.h"
#include "gateway/control/session_check.h"

struct status_task {
	uint32_t sessions;
};

static json_t *row_of(const struct msg_process *process)
{
	return json_pack("{s:s, s:I, s:I, s:b, s:o}", "role",
			 role_name((enum role)process->role), "pid",
			 (json_int_t)process->pid, "restarts",
			 (json_int_t)process->restarts, "ready",
			 process->is_ready, "session",
			 json_text(process->session));
}

static void on_processes(struct conn *conn, const void *message)
{
	const struct msg_process_list *list = message;
	const struct status_task *task = conn->task;
	json_t *rows = json_array();

	for (size_t i = 0; i < list->processes_count; i++)
		(void)json_array_append_new(rows, row_of(&list->processes[i]));
	conn_reply_json(conn, 200,
			json_pack("{s:s, s:s, s:o, s:I}", "version", SP_VERSION,
				  "run", conn->control->run, "processes", rows,
				  "sessions", (json_int_t)task->sessions));
}

static void on_sessions(struct conn *conn, const void *message)
{
	const struct msg_session_list *list = message;
	struct status_task *task = conn->task;
	const struct wire_empty empty = {0};
	struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_PROCESS_LIST,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_process_list_schema,
	};

	task->sessions = list->total;
	conn_ask(conn, &question, on_processes);
}

void handle_status(struct conn *conn)
{
	/* Their number alone. */
	const struct msg_session_query query = {.skip = UINT32_MAX};
	struct question question = session_question(&query);
	struct status_task *task = arena_alloc(&conn->arena, sizeof(*task));

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	conn->task = task;
	conn_ask(conn, &question, on_sessions);
}
