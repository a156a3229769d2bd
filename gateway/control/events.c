#include "gateway/control/events.h"

#include <utlist.h>

#include "common/log.h"
#include "gateway/control/handlers.h"
#include "gateway/control/ledger_query.h"

struct event_task {
	struct msg_ledger_query query; /* .after: the last row it has */
	bool is_begun;
	bool is_behind;
};

static bool is_stream(const struct conn *conn)
{
	return conn->http.state == HTTP_CONN_STREAM && conn->route &&
	       conn->route->handle == handle_events;
}

/* ---- one stream ---- */

static int send_row(struct conn *conn, const struct ledger_row *row)
{
	struct event_task *task = conn->task;

	task->query.after = row->sequence;
	return conn_stream_line(conn, row->json);
}

static void catch_up(struct conn *conn);

static void on_rows(struct conn *conn, const void *message)
{
	const struct msg_ledger_rows *rows = message;
	struct event_task *task = conn->task;

	for (size_t i = 0; i < rows->rows_count; i++)
		if (send_row(conn, &rows->rows[i]) < 0)
			return;
	task->is_behind = rows->more || http_conn_is_full(&conn->http);
	if (task->is_behind && !http_conn_is_full(&conn->http))
		catch_up(conn);
}

static void catch_up(struct conn *conn)
{
	struct event_task *task = conn->task;
	struct question question = ledger_question(&task->query);

	task->is_behind = true;
	task->query.limit = LEDGER_ROWS_MAX;
	conn_ask(conn, &question, on_rows);
}

static void on_room(struct conn *conn)
{
	const struct event_task *task = conn->task;

	if (task->is_behind && !conn->ask)
		catch_up(conn);
}

static void begin(struct conn *conn)
{
	struct event_task *task = conn->task;

	if (conn_stream_begin(conn, on_room) < 0)
		return;
	task->is_begun = true;
	if (conn->params.given & PARAM_AFTER)
		catch_up(conn);
}

/* ---- all streams ---- */

struct row_facts {
	char session[SESSION_ID_MAX + 1];
	bool is_allowed;
};

/* What streams choose by: the row's own JSON says it. */
static bool read_facts(const struct ledger_row *row, struct row_facts *facts)
{
	const char *session = "";
	int allowed = 1;
	json_t *root = json_loadb((const char *)row->json.data, row->json.len,
				  0, NULL);
	bool is_read = root && json_unpack(root, "{s?s, s?b}", "session",
					   &session, "allowed", &allowed) == 0;

	if (is_read)
		(void)snprintf(facts->session, sizeof(facts->session), "%s",
			       session);
	facts->is_allowed = allowed;
	json_decref(root);
	return is_read;
}

static bool wants(const struct event_task *task, const struct ledger_row *row,
		  const struct row_facts *facts)
{
	if (task->is_behind || row->sequence <= task->query.after)
		return false;
	if (task->query.denied_only && facts->is_allowed)
		return false;
	return task->query.session.len == 0 ||
	       bytes_is(task->query.session, facts->session);
}

static void tell_row(struct control *control, const struct ledger_row *row)
{
	struct http_conn *http, *next;
	struct row_facts facts;

	if (!read_facts(row, &facts))
		return;
	DL_FOREACH_SAFE(control->server.conns, http, next)
	{
		struct conn *conn = http->owner;
		struct event_task *task = is_stream(conn) ? conn->task : NULL;

		if (!task || !wants(task, row, &facts) ||
		    send_row(conn, row) < 0)
			continue;
		task->is_behind = http_conn_is_full(&conn->http);
	}
}

void events_tell(struct control *control, const struct msg_ledger_rows *rows)
{
	for (size_t i = 0; i < rows->rows_count; i++) {
		tell_row(control, &rows->rows[i]);
		control->heard = rows->rows[i].sequence;
	}
}

/* ---- following ---- */

static bool is_waiting(const struct conn *conn)
{
	return conn->http.state == HTTP_CONN_SERVED &&
	       conn->route->handle == handle_events && conn->task;
}

static void begin_waiting(struct control *control)
{
	struct http_conn *http, *next;

	DL_FOREACH_SAFE(control->server.conns, http, next)
	if (is_waiting(http->owner))
		begin(http->owner);
}

static void refuse_waiting(struct control *control)
{
	struct http_conn *http, *next;

	DL_FOREACH_SAFE(control->server.conns, http, next)
	if (is_waiting(http->owner))
		conn_refuse(http->owner, 503, "the ledger cannot be followed");
}

static void on_followed(struct rpc_outcome *outcome, void *owner)
{
	struct control *control = owner;

	control->is_follow_asked = false;
	control->is_following = outcome->err == NULL;
	if (control->is_following) {
		begin_waiting(control);
		return;
	}
	log_warn("follow the ledger: %s", outcome->err->text);
	refuse_waiting(control);
}

static void ask_follow(struct control *control)
{
	const struct msg_ledger_query message = {.after = control->heard,
						 .limit = LEDGER_ROWS_MAX};
	struct question question = ledger_question(&message);
	struct err err;

	question.type = MSG_LEDGER_FOLLOW;
	question.reply_schema = &wire_empty_schema;
	question.fn = on_followed;
	question.owner = control;
	control->is_follow_asked = ask_send(control, &question, &err) != NULL;
	if (!control->is_follow_asked) {
		log_warn("follow the ledger: %s", err.text);
		refuse_waiting(control);
	}
}

/* Where the ledger stands now: what comes later is told. */
static void on_head(struct rpc_outcome *outcome, void *owner)
{
	struct control *control = owner;
	const struct msg_ledger_rows *rows = outcome->message;

	control->is_follow_asked = false;
	if (outcome->err) {
		refuse_waiting(control);
		return;
	}
	if (rows->rows_count > 0)
		control->heard = rows->rows[rows->rows_count - 1].sequence;
	ask_follow(control);
}

static void ask_head(struct control *control)
{
	const struct msg_ledger_query message = {.newest = true, .limit = 1};
	struct question question = ledger_question(&message);
	struct err err;

	question.fn = on_head;
	question.owner = control;
	control->is_follow_asked = ask_send(control, &question, &err) != NULL;
	if (!control->is_follow_asked)
		refuse_waiting(control);
}

void events_ledger_came(struct control *control)
{
	if (!control->is_following && control->heard == 0)
		return;
	control->is_following = false;
	ask_follow(control);
}

void handle_events(struct conn *conn)
{
	struct control *control = conn->control;
	const struct params *params = &conn->params;
	struct event_task *task = arena_alloc(&conn->http.arena, sizeof(*task));

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	if (params->session.len > SESSION_ID_MAX) {
		conn_refuse(conn, 400, "there is no such session");
		return;
	}
	task->query = (struct msg_ledger_query){
		.after = params->after,
		.session = params->session,
		.denied_only = params->denied,
	};
	conn->task = task;
	if (control->is_following)
		begin(conn);
	else if (!control->is_follow_asked)
		ask_head(control);
}
