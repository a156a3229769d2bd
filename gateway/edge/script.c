#include "gateway/edge/script.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/upstream/dial.h"
#include "policies/guardrail.h"

#define LOAD_TIMEOUT_MS	  10000
#define DECIDE_TIMEOUT_MS 5000

/* ---- the process ---- */

static void on_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct edge *edge = owner;

	log_debug("the script is gone: %s", why);
	if (edge->script == rpc)
		edge->script = NULL;
}

/* A connection may be closed by what wakes it, or by the one before. */
static void wake_all(struct edge *edge)
{
	struct conn *conn, *next;

	DL_FOREACH_SAFE(edge->conns, conn, next)
	if (conn->state == AT_SCRIPT && !conn->is_closed)
		lane_deliver(conn, EV_WAKE);
}

/* Why it could not be loaded is told to each request. */
static void on_loaded(struct rpc_outcome *outcome, void *owner)
{
	(void)owner;
	if (outcome->err)
		log_warn("script: %s", outcome->err->text);
}

static int load(struct edge *edge, int fd, struct err *err)
{
	const struct rpc_config config = {.owner = edge, .on_closed = on_gone};
	const struct msg_script_load message = {
		.text = edge->law->policy->script};
	const struct rpc_call call = {
		.type = MSG_SCRIPT_LOAD,
		.schema = &msg_script_load_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = LOAD_TIMEOUT_MS,
		.on_outcome = on_loaded,
		.owner = edge,
	};

	edge->script = rpc_new(edge->keeper->loop, fd, &config, err);
	if (!edge->script)
		return -1;
	return rpc_ask(edge->script, &call, NULL, err);
}

static void on_started(struct rpc_outcome *outcome, void *owner)
{
	struct edge *edge = owner;
	struct err err;

	edge->is_script_started = false;
	if (edge->has_ended)
		return;
	if (outcome->err || outcome->fd < 0) {
		log_warn("script: %s", outcome->err ? outcome->err->text
						    : "none was started");
	} else if (load(edge, take_fd(&outcome->fd), &err) < 0) {
		log_warn("script: %s", err.text);
		/* The next request starts another. */
		script_end(edge);
	}
	wake_all(edge);
}

static int start(struct edge *edge, struct err *err)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SCRIPT_START,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = DEADLINE_ASK_MS,
		.on_outcome = on_started,
		.owner = edge,
	};

	if (edge->is_script_started)
		return 0;
	if (rpc_ask(edge->keeper->warden, &call, NULL, err) < 0)
		return -1;
	edge->is_script_started = true;
	return 0;
}

void script_end(struct edge *edge)
{
	if (edge->script)
		rpc_close(edge->script);
	edge->script = NULL;
}

/* ---- a request ---- */

static void refuse(struct conn *conn, enum constraint constraint,
		   struct bytes reason)
{
	conn->verdict.kind = VERDICT_DENY;
	conn->verdict.constraint = constraint;
	conn->verdict.reason = arena_copy(&conn->arena, reason);
	conn_refuse_request(conn);
}

/* A session's script answers for its own policy: what the operator's
 * guardrail asks a person about stays with that person. */
static void take_verdict(struct conn *conn, struct rpc_outcome *outcome)
{
	const struct msg_script_verdict *verdict = outcome->message;

	if (outcome->err)
		refuse(conn, CONSTRAINT_script_failed,
		       bytes_str(outcome->err->text));
	else if (verdict->kind == SCRIPT_DENY)
		refuse(conn, CONSTRAINT_script_denied, verdict->reason);
	else if (verdict->kind == SCRIPT_ALLOW &&
		 !guardrail_spoke(&conn->verdict))
		conn->verdict.kind = VERDICT_ALLOW;
}

static enum step ask(struct conn *conn)
{
	const struct request *request = &conn->errand->request;
	struct msg_script_field fields[HEAD_FIELDS_MAX];
	struct msg_script_request message = {
		.method = request->is_websocket ? bytes_str("WEBSOCKET")
						: request->method,
		.is_tls = conn->errand->target.scheme == SCHEME_HTTPS,
		.host = bytes_str(conn->errand->target.host),
		.port = conn->errand->target.port,
		.path = request->path,
		.query = request->query,
		.fields = fields,
	};
	const struct rpc_call call = {
		.type = MSG_SCRIPT_DECIDE,
		.schema = &msg_script_request_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_script_verdict_schema,
		.timeout_ms = DECIDE_TIMEOUT_MS,
	};

	for (; message.fields_count < request->fields.count &&
	       message.fields_count < HEAD_FIELDS_MAX;
	     message.fields_count++)
		fields[message.fields_count] = (struct msg_script_field){
			request->fields.items[message.fields_count].name,
			request->fields.items[message.fields_count].value,
		};
	return conn_ask(conn, conn->edge->script, &call, take_verdict) < 0
		       ? STEP_DENY
		       : STEP_STAY;
}

static enum step begin(struct conn *conn)
{
	struct err err;

	if (conn->edge->script)
		return ask(conn);
	if (start(conn->edge, &err) == 0)
		return STEP_STAY;
	refuse(conn, CONSTRAINT_script_failed, bytes_str(err.text));
	return STEP_DENY;
}

/* A script is there, or none could be started. */
static enum step wake(struct conn *conn)
{
	if (conn->ask)
		return STEP_STAY;
	if (conn->edge->script)
		return ask(conn);
	refuse(conn, CONSTRAINT_script_failed,
	       bytes_str("the script's process could not be started"));
	return STEP_DENY;
}

enum step script_step(struct conn *conn, enum lane_event event)
{
	switch ((unsigned)event) {
	case EV_ENTER:
		return conn->law->policy->script.len ? begin(conn) : STEP_NEXT;
	case EV_WAKE:
		return wake(conn);
	case EV_ANSWER:
		return conn->refusal.constraint == CONSTRAINT_none ? STEP_NEXT
								   : STEP_DENY;
	default:
		return STEP_STAY;
	}
}
