#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

/* So long its answer is waited for: what is asked may be done late, and the
 * record says what was done. */
#define RENEW_TIMEOUT_MS (5 * 60 * 1000)

/* A renewal that the warden was asked for. It is recorded as it went,
 * whether or not somebody still waits to hear of it. */
struct renewal {
	struct control *control;
	struct conn *conn; /* NULL: nobody waits */
	uid_t uid;
	char id[SESSION_ID_MAX + 1];
	uint64_t expires_ms, before_ms;
};

/* Seconds from now, or -1: refused. */
static json_int_t read_ttl(struct conn *conn)
{
	struct bytes body = buf_view(&conn->http.body);
	json_int_t ttl_s = 0;
	json_error_t error;
	json_t *root = json_loadb((const char *)body.data, body.len,
				  JSON_REJECT_DUPLICATES, &error);
	bool is_read = root && json_unpack_ex(root, &error, JSON_STRICT,
					      "{s:I}", "ttl_s", &ttl_s) == 0;

	json_decref(root);
	if (!is_read) {
		conn_refuse(conn, 400, "the body: %s", error.text);
		return -1;
	}
	if (ttl_s < 1 || ttl_s > SESSION_TTL_MAX_S) {
		conn_refuse(conn, 422,
			    "ttl_s is 1 to 604800 seconds: seven days");
		return -1;
	}
	return ttl_s;
}

static int record(struct control *control, const struct record *of, uid_t uid,
		  uint64_t expires_ms)
{
	char detail[128], end[CLOCK_TEXT_SIZE];
	struct record renewal = *of;

	clock_format(expires_ms, end);
	(void)snprintf(detail, sizeof(detail), "uid %u: until %s", uid, end);
	renewal.kind = RECORD_ADMIN;
	renewal.host = bytes_str("control");
	renewal.method = bytes_str("session.renew");
	renewal.detail = bytes_str(detail);
	return keeper_record(control->keeper, &renewal);
}

static struct ask *ask_warden(const struct renewal *renewal,
			      uint64_t expires_ms, ask_fn *fn, struct err *err)
{
	const struct msg_session_renew message = {
		.id = bytes_str(renewal->id),
		.expires_ms = expires_ms,
	};
	const struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_SESSION_RENEW,
		.schema = &msg_session_renew_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.fn = fn,
		.owner = (void *)(uintptr_t)renewal,
		.timeout_ms = RENEW_TIMEOUT_MS,
	};

	return ask_send(renewal->control, &question, err);
}

static void answer(const struct renewal *renewal,
		   const struct rpc_outcome *outcome, bool is_recorded)
{
	struct conn *conn = renewal->conn;

	if (!conn)
		return;
	conn->on_end = NULL;
	if (outcome->err)
		conn_refuse_outcome(conn, outcome);
	else if (!is_recorded)
		conn_refuse(conn, 503, "the record could not be kept");
	else
		conn_reply_json(conn, 200,
				json_pack("{s:o, s:o}", "id",
					  json_text(bytes_str(renewal->id)),
					  "expires",
					  json_time(renewal->expires_ms)));
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct renewal *renewal = owner;
	const struct record row = {
		.allowed = !outcome->err,
		.session = bytes_str(renewal->id),
		.constraint = outcome->err
				      ? (uint16_t)CONSTRAINT_session_revoked
				      : (uint16_t)CONSTRAINT_none,
	};
	bool is_recorded = record(renewal->control, &row, renewal->uid,
				  renewal->expires_ms) == 0;
	struct err err;

	/* What cannot be recorded does not happen. */
	if (!outcome->err && !is_recorded &&
	    !ask_warden(renewal, renewal->before_ms, NULL, &err) &&
	    ask_end_session(renewal->control, bytes_str(renewal->id), &err) < 0)
		log_error("a renewal is not on record: %s", err.text);
	answer(renewal, outcome, is_recorded);
}

static void on_left(struct conn *conn)
{
	struct renewal *renewal = conn->task;

	renewal->conn = NULL;
}

/* So late may it end; it is refused here, with words, and by the warden. */
static bool is_too_late(struct conn *conn, uint64_t expires_ms)
{
	uint64_t last_ms =
		conn->session->created_ms + SESSION_LIFETIME_MAX_S * 1000ull;
	const struct record row = {
		.session = conn->session->id,
		.constraint = (uint16_t)CONSTRAINT_resource_limit,
	};
	char end[CLOCK_TEXT_SIZE];

	if (expires_ms <= last_ms)
		return false;
	clock_format(last_ms, end);
	(void)record(conn->control, &row, conn->who.uid, expires_ms);
	conn_refuse(conn, 422,
		    "a session ends 30 days after it was created at the "
		    "latest: this one at %s",
		    end);
	return true;
}

void handle_session_renew(struct conn *conn)
{
	json_int_t ttl_s = read_ttl(conn);
	uint64_t expires_ms = clock_wall_ms() + (uint64_t)ttl_s * 1000;
	auto_free struct renewal *renewal = NULL;
	struct err err;

	if (ttl_s < 0 || is_too_late(conn, expires_ms))
		return;
	renewal = calloc(1, sizeof(*renewal));
	if (!renewal) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	*renewal = (struct renewal){.control = conn->control,
				    .conn = conn,
				    .uid = conn->who.uid,
				    .expires_ms = expires_ms,
				    .before_ms = conn->session->expires_ms};
	(void)snprintf(renewal->id, sizeof(renewal->id), "%.*s",
		       BYTES_ARGS(conn->session->id));
	if (!ask_warden(renewal, expires_ms, on_outcome, &err)) {
		conn_refuse(conn, err.code == ERR_TOO_LARGE ? 429 : 503, "%s",
			    err.text);
		return;
	}
	conn->task = take_ptr(&renewal);
	conn->on_end = on_left;
}
