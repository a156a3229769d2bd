#include "common/clock.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"
#include "gateway/control/session_check.h"
#include "gateway/flow/target.h"

#define APPROVALS_LISTED_MAX 1000

/* The ledger keeps proposals; the warden knows whose session is whose. */

static struct question ledger_asks(uint16_t type,
				   const struct wire_schema *schema,
				   const void *message)
{
	return (struct question){
		.role = ROLE_LEDGER,
		.type = type,
		.schema = schema,
		.message = message,
		.fd = -1,
		.reply_schema = &msg_proposal_found_schema,
	};
}

/* A command has none. */
static json_t *scheme_of(const struct proposal *proposal)
{
	static const char *const names[] = {"http", "https", "tcp"};

	return json_string(
		proposal_is_command(proposal) ? "" : names[proposal->scheme]);
}

static json_t *row_of(const struct proposal *proposal)
{
	bool is_decided = proposal->decided_ms != 0;
	bool is_granted = is_decided && proposal->state != PROPOSAL_DENIED;

	return json_pack(
		"{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o,"
		" s:o, s:s, s:o, s:o, s:o}",
		"id", json_text(proposal->id), "session",
		json_text(proposal->session), "state",
		proposal_state_name(proposal->state), "rule",
		json_text(proposal->rule), "method",
		json_text(proposal->method), "scheme", scheme_of(proposal),
		"host", json_text(proposal->host), "port", (int)proposal->port,
		"path", json_text(proposal->path), "credential",
		json_text(proposal->credential), "why",
		json_text(proposal->why), "created",
		json_time(proposal->created_ms), "expires",
		json_time(proposal->expires_ms), "scope",
		is_granted ? grant_scope_name(proposal->scope) : "", "until",
		json_time(is_granted ? proposal->until_ms : 0), "decided",
		json_time(proposal->decided_ms), "decided_by",
		is_decided ? json_integer((json_int_t)proposal->decided_by)
			   : json_null());
}

/* ---- list ---- */

struct list_task {
	struct msg_proposal_query query;
	json_t *rows;
};

static void ask_more(struct conn *conn);

static void on_proposals(struct conn *conn, const void *message)
{
	const struct msg_proposal_list *list = message;
	struct list_task *task = conn->task;

	for (size_t i = 0; i < list->proposals_count; i++)
		(void)json_array_append_new(task->rows,
					    row_of(&list->proposals[i]));
	task->query.after = list->last;
	if (list->more && list->proposals_count > 0 &&
	    json_array_size(task->rows) < APPROVALS_LISTED_MAX) {
		ask_more(conn);
		return;
	}
	conn_reply_json(conn, 200,
			json_pack("{s:O, s:b}", "approvals", task->rows, "more",
				  list->more));
}

static void ask_more(struct conn *conn)
{
	const struct list_task *task = conn->task;
	struct question question = ledger_asks(
		MSG_PROPOSAL_LIST, &msg_proposal_query_schema, &task->query);

	question.reply_schema = &msg_proposal_list_schema;
	conn_ask(conn, &question, on_proposals);
}

static void list_end(struct conn *conn)
{
	struct list_task *task = conn->task;

	json_decref(task->rows);
}

void handle_approval_list(struct conn *conn)
{
	const struct params *params = &conn->params;
	struct list_task *task = arena_alloc(&conn->http.arena, sizeof(*task));
	enum proposal_state state = PROPOSAL_STATE_MAX;

	if (params->given & PARAM_STATE)
		state = proposal_state_from_name(params->state);
	if (((params->given & PARAM_STATE) && state == PROPOSAL_STATE_MAX) ||
	    params->session.len > SESSION_ID_MAX) {
		conn_refuse(conn, 400, "there is no such session or state");
		return;
	}
	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	*task = (struct list_task){
		.query = {.session = params->session, .state = (uint8_t)state},
		.rows = json_array(),
	};
	conn->task = task;
	conn->on_end = list_end;
	ask_more(conn);
}

/* ---- ask about a command ---- */

static void on_asked(struct conn *conn, const void *message)
{
	conn_reply_json(conn, 200, row_of(message));
}

static void ask_about(struct conn *conn, const char *command, const char *rule)
{
	const struct proposal proposal = {
		.session = conn->session->id,
		.rule = bytes_str(rule),
		.method = bytes_str(PROPOSAL_COMMAND),
		.scheme = SCHEME_TCP,
		.host = bytes_str("sandbox"),
		.path = bytes_str(command),
		.expires_ms = conn->session->expires_ms,
	};
	struct question question =
		ledger_asks(MSG_PROPOSAL_TAKE, &proposal_schema, &proposal);

	question.reply_schema = &proposal_schema;
	if (conn->session->is_revoked)
		conn_refuse(conn, 409, "the session has ended");
	else if (proposal.path.len == 0 ||
		 proposal.path.len > PROPOSAL_PATH_MAX ||
		 proposal.rule.len > PROPOSAL_RULE_MAX)
		conn_refuse(conn, 422,
			    "a command has 1 to %d bytes, its rule at most %d",
			    PROPOSAL_PATH_MAX, PROPOSAL_RULE_MAX);
	else
		conn_ask(conn, &question, on_asked);
}

/* By whoever runs it, who holds the session: what runs inside can not reach
 * control. */
void handle_session_ask(struct conn *conn)
{
	struct bytes body = buf_view(&conn->http.body);
	const char *command = "", *rule = "";
	json_error_t error;
	json_t *root = json_loadb((const char *)body.data, body.len,
				  JSON_REJECT_DUPLICATES, &error);

	if (!root || json_unpack_ex(root, &error, JSON_STRICT, "{s:s, s:s}",
				    "command", &command, "rule", &rule) < 0)
		conn_refuse(conn, 400, "the body: %s", error.text);
	else
		ask_about(conn, command, rule);
	json_decref(root);
}

/* ---- decide ---- */

struct decide_task {
	struct msg_proposal_decide decide;
	struct bytes session;
};

static void on_decided(struct conn *conn, const void *message)
{
	const struct msg_proposal_found *found = message;

	if (found->proposals_count == 0)
		conn_refuse(conn, 404, "there is no such proposal");
	else if (!found->has_changed)
		conn_refuse(conn, 409, "the proposal is %s already",
			    proposal_state_name(found->proposals[0].state));
	else
		conn_reply_json(conn, 200, row_of(&found->proposals[0]));
}

static void on_session(struct conn *conn, const void *message)
{
	const struct msg_session_list *list = message;
	struct decide_task *task = conn->task;
	struct question question =
		ledger_asks(MSG_PROPOSAL_DECIDE, &msg_proposal_decide_schema,
			    &task->decide);

	if (list->sessions_count > 0 && !conn->who.is_admin &&
	    list->sessions[0].owner_uid != conn->who.uid)
		conn_refuse(conn, 403,
			    "the proposal is of somebody else's session");
	else if (list->sessions_count == 0 || list->sessions[0].is_revoked)
		conn_refuse(conn, 409, "the session of the proposal has ended");
	else
		conn_ask(conn, &question, on_decided);
}

static void on_proposal(struct conn *conn, const void *message)
{
	const struct msg_proposal_found *found = message;
	struct decide_task *task = conn->task;
	struct msg_session_query query = {0};
	struct question question;

	if (found->proposals_count == 0) {
		conn_refuse(conn, 404, "there is no such proposal");
		return;
	}
	task->session =
		arena_copy(&conn->http.arena, found->proposals[0].session);
	query.id = task->session;
	question = session_question(&query);
	/* No id would ask for every session. */
	if (query.id.len == 0)
		conn_refuse(conn, 503, "no memory");
	else
		conn_ask(conn, &question, on_session);
}

/* 0, or -1 with what is wrong in *why. */
static int read_scope(struct msg_proposal_decide *decide, const char *scope,
		      const char *until, const char **why)
{
	enum grant_scope named = scope ? grant_scope_from_name(bytes_str(scope))
				 : until ? GRANT_UNTIL
					 : GRANT_SESSION;

	*why = NULL;
	if (!decide->approve && (scope || until))
		*why = "only what is approved has a scope";
	else if (named == GRANT_SCOPE_MAX)
		*why = "scope is \"once\", \"session\" or \"until\"";
	else if ((named == GRANT_UNTIL) != (until != NULL))
		*why = "scope \"until\" and a time belong together";
	else if (until && clock_parse(bytes_str(until), &decide->until_ms) < 0)
		*why = "until must be a time like 2026-11-21T19:00:00Z "
		       "(--until: or like 10m, from now)";
	else if (until && decide->until_ms <= clock_wall_ms())
		*why = "until is over already";
	if (!*why)
		decide->scope = (uint8_t)named;
	return *why ? -1 : 0;
}

static int read_decision(struct conn *conn, struct msg_proposal_decide *decide)
{
	struct bytes body = buf_view(&conn->http.body);
	const char *decision = "", *scope = NULL, *until = NULL, *why = NULL;
	json_error_t error;
	json_t *root = json_loadb((const char *)body.data, body.len,
				  JSON_REJECT_DUPLICATES, &error);

	*decide = (struct msg_proposal_decide){.id = conn->name,
					       .by = conn->who.uid};
	if (!root || json_unpack_ex(root, &error, JSON_STRICT,
				    "{s:s, s?s, s?s}", "decision", &decision,
				    "scope", &scope, "until", &until) < 0) {
		conn_refuse(conn, 400, "the body: %s", error.text);
		json_decref(root);
		return -1;
	}
	decide->approve = bytes_is(bytes_str(decision), "approve");
	if (!decide->approve && !bytes_is(bytes_str(decision), "deny"))
		why = "decision is \"approve\" or \"deny\"";
	else
		(void)read_scope(decide, scope, until, &why);
	if (why)
		conn_refuse(conn, 422, "%s", why);
	json_decref(root);
	return why ? -1 : 0;
}

void handle_approval_decide(struct conn *conn)
{
	struct decide_task *task =
		arena_alloc(&conn->http.arena, sizeof(*task));
	const struct msg_proposal_ref ref = {conn->name};
	struct question question =
		ledger_asks(MSG_PROPOSAL_GET, &msg_proposal_ref_schema, &ref);

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	if (conn->name.len > PROPOSAL_ID_MAX) {
		conn_refuse(conn, 404, "there is no such proposal");
		return;
	}
	if (read_decision(conn, &task->decide) < 0)
		return;
	conn->task = task;
	conn_ask(conn, &question, on_proposal);
}
