/*
 * The policy of a session that runs: shown, and replaced.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/control/again.h"
#include "gateway/control/attach.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"
#include "gateway/control/rights.h"
#include "policies/guardrail.h"
#include "policies/inside.h"
#include "policies/permissions.h"

#define ERRORS_MAX	(64 * 1024)
#define SCOPE_ARENA_MAX (32 * 1024 * 1024)
#define NAME_LEN_MAX	64
#define TRIES_MAX	4

/* A policy that is looked at or replaced; ends by itself when nobody waits any
 * more. A change that the warden was asked for is made anyway. */
struct policy_task {
	struct control *control;
	struct conn *conn; /* NULL: nobody waits */
	char id[SESSION_ID_MAX + 1];
	bool changes;
	struct buf text; /* the new one */
	char name[NAME_LEN_MAX + 1];
	char expected[POLICY_HASH_SIZE]; /* of the old one; "": any */
	char before[POLICY_HASH_SIZE], after[POLICY_HASH_SIZE];
	unsigned tries; /* others were quicker */
	uid_t uid;
};

static void task_free(struct policy_task *task)
{
	if (task->conn)
		task->conn->on_end = NULL;
	buf_release(&task->text);
	free(task);
}

static void on_left(struct conn *conn)
{
	struct policy_task *task = conn->task;

	task->conn = NULL;
}

static int ask(struct policy_task *task, const struct question *of, ask_fn *fn)
{
	struct question question = *of;
	struct err err;

	question.role = ROLE_WARDEN;
	if (!question.reply_schema)
		question.reply_schema = &wire_empty_schema;
	question.fn = fn;
	question.owner = task;
	if (ask_send(task->control, &question, &err))
		return 0;
	conn_refuse(task->conn, err.code == ERR_TOO_LARGE ? 429 : 503, "%s",
		    err.text);
	return -1;
}

/* ---- the change ---- */

static int record_change(const struct policy_task *task, const char *why)
{
	char detail[512];
	struct record record = {
		.kind = RECORD_ADMIN,
		.allowed = !why,
		.constraint = why ? CONSTRAINT_internal : CONSTRAINT_none,
		.session = bytes_str(task->id),
		.host = bytes_str("control"),
		.method = bytes_str("session.policy"),
	};

	(void)snprintf(detail, sizeof(detail), "uid %u: %s to %s%s%s",
		       task->uid, task->before, task->after, why ? ": " : "",
		       why ? why : "");
	record.detail = bytes_str(detail);
	return keeper_record(task->control->keeper, &record);
}

static void begin(struct policy_task *task);

/* Somebody else was quicker. */
static void be_late(struct policy_task *task)
{
	struct conn *conn = task->conn;

	if (record_change(task, "another one came before") < 0)
		log_error("a change of policy that failed is not on record");
	if (conn)
		conn->on_end = NULL;
	/* Whoever expects none changes whatever holds. */
	if (conn && !*task->expected && ++task->tries < TRIES_MAX) {
		begin(task);
		return;
	}
	if (conn)
		conn_refuse(conn, 409,
			    "the policy that holds now is another: somebody "
			    "changed it just now");
	task->conn = NULL;
	task_free(task);
}

static void on_changed(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_session_changed *changed = outcome->message;
	struct policy_task *task = owner;
	struct conn *conn = task->conn;

	if (!outcome->err && !changed->holds) {
		be_late(task);
		return;
	}
	/* What was tried is on record, and so is that it was not done. */
	if (outcome->err && record_change(task, outcome->err->text) < 0)
		log_error("a change of policy that failed is not on record");
	if (!outcome->err)
		attach_tell_change(task->control, task->id);
	if (conn) {
		conn->on_end = NULL;
		task->conn = NULL;
	}
	if (conn && outcome->err)
		conn_refuse_outcome(conn, outcome);
	else if (conn)
		conn_reply_json(conn, 200,
				json_pack("{s:s, s:s, s:s, s:s}", "id",
					  task->id, "policy_name", task->name,
					  "hash", task->after, "before",
					  task->before));
	task_free(task);
}

static struct policy *compile(struct policy_task *task,
			      const struct session_package *of,
			      struct bytes text, struct buf *report)
{
	const struct policy_variables variables = {
		.session_id = of->id,
		.branch = of->branch,
		.repo = of->repo,
		.permissions = of->permissions,
	};
	struct policy_errors errors = {
		.out = report,
		.file = *task->name ? task->name : "policy",
	};

	return guarded_compile(text, of->guardrail_text, &variables, &errors);
}

/* Is it one that may take the other's place? Else the request is refused. */
static bool may_replace(struct policy_task *task, const struct policy *from,
			const struct policy *to)
{
	const char *differs = policy_inside_differs(from, to);

	if (!differs)
		return rights_to_secrets(task->conn, to);
	conn_refuse(task->conn, 422,
		    "%s: this part of the policy stands in the sandbox "
		    "and cannot change while it runs",
		    differs);
	return false;
}

static int seal(const struct policy_task *task,
		const struct session_package *from, const struct policy *policy,
		struct err *err)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf permitted;
	struct session_package to = *from;

	arena_init(&arena, SCOPE_ARENA_MAX);
	buf_init(&permitted, PERMISSIONS_BYTES_MAX);
	(void)permissions_write(policy, from->repo, &permitted);
	to.permitted = buf_view(&permitted);
	to.policy_name = bytes_str(task->name);
	to.policy_text = buf_view(&task->text);
	if (scope_from_policy(policy, &arena, &to.scope, err) < 0)
		return -1;
	return package_seal(&to, err);
}

/* The descriptor of a package with the new policy; -1: it is refused. */
static int replace(struct policy_task *task, const struct session_package *of)
{
	auto_type(buf_release) struct buf report;
	struct policy *from, *to;
	struct err err;
	int sealed = -1;

	buf_init(&report, ERRORS_MAX);
	to = compile(task, of, buf_view(&task->text), &report);
	if (!to) {
		conn_refuse_errors(task->conn, 422,
				   "the policy does not compile",
				   buf_view(&report));
		return -1;
	}
	if (!*task->name)
		(void)snprintf(task->name, sizeof(task->name), "%.*s",
			       BYTES_ARGS(to->name));
	from = compile(task, of, of->policy_text, NULL);
	if (!from)
		conn_refuse(task->conn, 503,
			    "the policy that holds now is "
			    "not to be read");
	else if (may_replace(task, from, to)) {
		sealed = seal(task, of, to, &err);
		if (sealed < 0)
			conn_refuse(task->conn, 422, "%s", err.text);
	}
	policy_free(from);
	policy_free(to);
	return sealed;
}

/* 0: the warden is asked; -1: it is refused. */
static int change(struct policy_task *task, const struct session_package *of)
{
	uint8_t before[DIGEST_LEN] = {0};
	const struct msg_session_change message = {
		.before = bytes_from(before, sizeof(before))};
	struct question question = {
		.type = MSG_SESSION_CHANGE,
		.schema = &msg_session_change_schema,
		.message = &message,
		.reply_schema = &msg_session_changed_schema,
	};
	auto_fd int sealed = -1;

	digest_sha256(of->policy_text, bytes_from(NULL, 0), before);
	policy_hash(buf_view(&task->text), task->after);
	if (*task->expected && strcmp(task->expected, task->before) != 0) {
		conn_refuse(task->conn, 409,
			    "the policy that holds now is another: %s",
			    task->before);
		return -1;
	}
	sealed = replace(task, of);
	if (sealed < 0)
		return -1;
	/* What cannot be recorded does not happen. */
	if (record_change(task, NULL) < 0) {
		conn_refuse(task->conn, 503, "the record could not be kept");
		return -1;
	}
	question.fd = sealed;
	if (ask(task, &question, on_changed) == 0)
		return 0;
	/* What was tried is on record, and so is that it was not done. */
	if (record_change(task, "the warden was not asked") < 0)
		log_error("a change of policy that failed is not on record");
	return -1;
}

/* ---- the policy that holds ---- */

static void show(struct policy_task *task, const struct session_package *of)
{
	conn_reply_json(task->conn, 200,
			json_pack("{s:s, s:o, s:o, s:s}", "id", task->id,
				  "policy_name", json_text(of->policy_name),
				  "policy", json_text(of->policy_text), "hash",
				  task->before));
}

static void on_package(struct rpc_outcome *outcome, void *owner)
{
	struct policy_task *task = owner;
	struct package *package = NULL;
	bool goes_on = false;
	struct err err;

	if (task->conn)
		task->conn->on_end = NULL;
	if (!task->conn) {
		task_free(task);
		return;
	}
	if (outcome->err) {
		conn_refuse_outcome(task->conn, outcome);
	} else {
		package = package_open(outcome->fd, &err);
		if (!package)
			conn_refuse(task->conn, 503, "%s", err.text);
	}
	if (package) {
		policy_hash(package->session.policy_text, task->before);
		if (!task->changes)
			show(task, &package->session);
		else
			goes_on = change(task, &package->session) == 0;
	}
	package_free(package);
	if (goes_on) {
		task->conn->on_end = on_left;
		return;
	}
	task->conn = NULL;
	task_free(task);
}

static void begin(struct policy_task *task)
{
	const struct msg_session_ref ref = {.id = bytes_str(task->id)};
	const struct question question = {
		.type = MSG_SESSION_PACKAGE,
		.schema = &msg_session_ref_schema,
		.message = &ref,
		.fd = -1,
	};
	struct conn *conn = task->conn;

	if (ask(task, &question, on_package) < 0) {
		task->conn = NULL;
		task_free(task);
		return;
	}
	conn->task = task;
	conn->on_end = on_left;
}

static struct policy_task *task_new(struct conn *conn)
{
	struct policy_task *task = calloc(1, sizeof(*task));

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return NULL;
	}
	task->control = conn->control;
	task->conn = conn;
	task->uid = conn->who.uid;
	buf_init(&task->text, POLICY_TEXT_MAX);
	(void)snprintf(task->id, sizeof(task->id), "%.*s",
		       BYTES_ARGS(conn->session->id));
	return task;
}

void handle_session_policy_show(struct conn *conn)
{
	struct policy_task *task = task_new(conn);

	if (task)
		begin(task);
}

/* ---- the body of a change ---- */

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

/* 0, or -1: refused. */
static int read_change(struct policy_task *task)
{
	struct conn *conn = task->conn;
	struct bytes body = buf_view(&conn->http.body);
	const char *text = "", *name = "", *expected = "";
	size_t text_len = 0;
	json_error_t error = {0};
	json_t *root = json_loadb((const char *)body.data, body.len,
				  JSON_REJECT_DUPLICATES, &error);
	int result = -1;

	if (!root ||
	    json_unpack_ex(root, &error, JSON_STRICT, "{s:s%, s?s, s?s}",
			   "policy", &text, &text_len, "policy_name", &name,
			   "expect", &expected) < 0)
		conn_refuse(conn, 400, "the body: %s", error.text);
	else if (strlen(name) > NAME_LEN_MAX || !is_printable(name))
		conn_refuse(conn, 422,
			    "policy_name is at most 64 printable "
			    "characters");
	else if (*expected && strlen(expected) != POLICY_HASH_SIZE - 1)
		conn_refuse(conn, 422, "expect is sha256: and 64 digits");
	else if (buf_add(&task->text, bytes_from(text, text_len)) < 0)
		conn_refuse(conn, 413, "a policy has at most %d bytes",
			    POLICY_TEXT_MAX);
	else
		result = 0;
	(void)snprintf(task->name, sizeof(task->name), "%s", name);
	(void)snprintf(task->expected, sizeof(task->expected), "%s", expected);
	json_decref(root);
	return result;
}

void handle_session_policy_put(struct conn *conn)
{
	struct policy_task *task = task_new(conn);

	if (!task)
		return;
	task->changes = true;
	if (read_change(task) < 0) {
		task->conn = NULL;
		task_free(task);
		return;
	}
	begin(task);
}
