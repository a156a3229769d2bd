#include "gateway/control/handlers.h"
#include "gateway/control/json.h"
#include "gateway/control/session_check.h"

#define PROCESSES_LISTED_MAX 12000 /* more than sessions may have */
/* One that stands still for so long is told of; the rest is known. */
#define LEDGER_TIMEOUT_MS 2000

struct status_task {
	json_t *rows;
	uint32_t sessions;
	uint32_t ended; /* of them */
	uint32_t asked; /* so many processes were told */
};

/* ---- the answer ---- */

static void reply(struct conn *conn, struct bytes failing)
{
	const struct status_task *task = conn->task;
	json_t *status = json_pack(
		"{s:s, s:s, s:O, s:I, s:I}", "version", SP_VERSION, "run",
		conn->control->run, "processes", task->rows, "sessions",
		(json_int_t)task->sessions, "ended", (json_int_t)task->ended);

	if (status && failing.len)
		(void)json_object_set_new(status, "failing",
					  json_text(failing));
	conn_reply_json(conn, 200, status);
}

/* ---- the ledger ---- */

/* Whatever became of the question: where no answer comes nothing is stored
 * either, and who asks for the status wants to hear of that. */
static void on_ledger(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_ledger_verified *verified = outcome->message;
	struct conn *conn = owner;

	conn->ask = NULL;
	if (outcome->refusal)
		reply(conn, outcome->refusal->detail);
	else if (outcome->err)
		reply(conn, bytes_str(outcome->err->text));
	else
		reply(conn, verified->failing);
}

static void ask_ledger(struct conn *conn)
{
	const struct msg_ledger_verify message = {LEDGER_VERIFY_NO_ROWS};
	const struct question question = {
		.role = ROLE_LEDGER,
		.type = MSG_LEDGER_VERIFY,
		.schema = &msg_ledger_verify_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_ledger_verified_schema,
		.fn = on_ledger,
		.owner = conn,
		.timeout_ms = LEDGER_TIMEOUT_MS,
	};
	struct err err;

	conn->ask = ask_send(conn->control, &question, &err);
	if (!conn->ask && err.code == ERR_TOO_LARGE)
		conn_refuse(conn, 429, "%s", err.text);
	else if (!conn->ask)
		reply(conn, bytes_str(err.text));
}

/* ---- processes and sessions ---- */

static json_t *row_of(const struct msg_process *process)
{
	return json_pack("{s:s, s:I, s:I, s:b, s:o}", "role",
			 role_name((enum role)process->role), "pid",
			 (json_int_t)process->pid, "restarts",
			 (json_int_t)process->restarts, "ready",
			 process->is_ready, "session",
			 json_text(process->session));
}

static void ask_processes(struct conn *conn);

static void on_processes(struct conn *conn, const void *message)
{
	const struct msg_process_list *list = message;
	struct status_task *task = conn->task;

	for (size_t i = 0; i < list->processes_count; i++)
		(void)json_array_append_new(task->rows,
					    row_of(&list->processes[i]));
	task->asked += (uint32_t)list->processes_count;
	if (list->processes_count == PROCESSES_TOLD_MAX &&
	    task->asked < PROCESSES_LISTED_MAX) {
		ask_processes(conn);
		return;
	}
	ask_ledger(conn);
}

static void ask_processes(struct conn *conn)
{
	const struct status_task *task = conn->task;
	const struct msg_process_query query = {.skip = task->asked};
	struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_PROCESS_LIST,
		.schema = &msg_process_query_schema,
		.message = &query,
		.fd = -1,
		.reply_schema = &msg_process_list_schema,
	};

	conn_ask(conn, &question, on_processes);
}

static void on_sessions(struct conn *conn, const void *message)
{
	const struct msg_session_list *list = message;
	struct status_task *task = conn->task;

	task->sessions = list->total;
	task->ended = list->ended;
	ask_processes(conn);
}

static void status_end(struct conn *conn)
{
	struct status_task *task = conn->task;

	json_decref(task->rows);
}

void handle_status(struct conn *conn)
{
	/* Their number alone. */
	const struct msg_session_query query = {.skip = UINT32_MAX};
	struct question question = session_question(&query);
	struct status_task *task =
		arena_alloc(&conn->http.arena, sizeof(*task));

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	task->rows = json_array();
	conn->task = task;
	conn->on_end = status_end;
	conn_ask(conn, &question, on_sessions);
}
