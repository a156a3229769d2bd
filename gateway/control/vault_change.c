#include "gateway/control/vault_change.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"

#define DETAIL_BYTES 640 /* a refusal has 512 */

struct pending {
	struct control *control;
	struct conn *conn; /* NULL: nobody waits */
	uid_t uid;
	const char *verb;
	char session[SESSION_ID_MAX + 1];
	char name[SECRET_NAME_MAX + 1];
};

static enum constraint constraint_of(const struct rpc_outcome *outcome)
{
	if (!outcome->err)
		return CONSTRAINT_none;
	if (outcome->err->code == ERR_DENIED && outcome->refusal &&
	    outcome->refusal->code < CONSTRAINT_MAX)
		return (enum constraint)outcome->refusal->code;
	return CONSTRAINT_internal;
}

static int record(const struct pending *pending,
		  const struct rpc_outcome *outcome)
{
	char detail[DETAIL_BYTES];
	bool is_refused = outcome->err && outcome->err->code == ERR_DENIED &&
			  outcome->refusal;
	struct bytes why = bytes_str(outcome->err ? outcome->err->text : "");
	struct record row = {
		.kind = RECORD_ADMIN,
		.allowed = !outcome->err,
		.constraint = (uint16_t)constraint_of(outcome),
		.session = bytes_str(pending->session),
		.host = bytes_str(pending->name),
		.method = bytes_str(pending->verb),
	};

	if (is_refused)
		why = outcome->refusal->detail;
	(void)snprintf(detail, sizeof(detail), "uid %u%s%.*s", pending->uid,
		       why.len ? ": " : "", BYTES_ARGS(why));
	row.detail = bytes_str(detail);
	return keeper_record(pending->control->keeper, &row);
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct pending *pending = owner;
	struct conn *conn = pending->conn;
	bool is_recorded = record(pending, outcome) == 0;

	if (!conn)
		return;
	conn->on_end = NULL;
	if (outcome->err)
		conn_refuse_outcome(conn, outcome);
	else if (!is_recorded)
		conn_refuse(conn, 503,
			    "it is done, but that you asked for it "
			    "could not be kept on record");
	else
		conn_reply_empty(conn);
}

static void on_left(struct conn *conn)
{
	struct pending *pending = conn->task;

	pending->conn = NULL;
}

void vault_change_ask(struct conn *conn, const struct vault_change *change)
{
	auto_free struct pending *pending = calloc(1, sizeof(*pending));
	const struct question question = {
		.role = ROLE_VAULT,
		.type = change->type,
		.schema = change->schema,
		.message = change->message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.fn = on_outcome,
		.owner = pending,
	};
	struct err err;

	if (!pending) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	*pending = (struct pending){.control = conn->control,
				    .conn = conn,
				    .uid = conn->who.uid,
				    .verb = change->verb};
	(void)snprintf(pending->session, sizeof(pending->session), "%.*s",
		       BYTES_ARGS(change->session));
	(void)snprintf(pending->name, sizeof(pending->name), "%.*s",
		       BYTES_ARGS(change->name));
	if (!ask_send(conn->control, &question, &err)) {
		(void)record(pending, &(struct rpc_outcome){.err = &err});
		conn_refuse(conn, err.code == ERR_TOO_LARGE ? 429 : 503, "%s",
			    err.text);
		return;
	}
	conn->task = take_ptr(&pending);
	conn->on_end = on_left;
}
