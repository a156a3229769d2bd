#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

struct renew_task {
	struct msg_session_renew message;
};

/* Seconds from now, or -1: refused. */
static json_int_t read_ttl(struct conn *conn)
{
	struct bytes body = buf_view(&conn->body);
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

static int record(struct conn *conn, json_int_t ttl_s)
{
	const char *detail = arena_format(
		&conn->arena, "uid %u: %" JSON_INTEGER_FORMAT " s from now",
		conn->who.uid, ttl_s);
	const struct record renewal = {
		.kind = RECORD_ADMIN,
		.allowed = true,
		.session = conn->session->id,
		.host = bytes_str("control"),
		.method = bytes_str("session.renew"),
		.detail = bytes_str(detail),
	};

	return keeper_record(conn->control->keeper, &renewal);
}

static void on_renewed(struct conn *conn, const void *message)
{
	const struct renew_task *task = conn->task;

	(void)message;
	conn_reply_json(conn, 200,
			json_pack("{s:o, s:o}", "id",
				  json_text(task->message.id), "expires",
				  json_time(task->message.expires_ms)));
}

void handle_session_renew(struct conn *conn)
{
	json_int_t ttl_s = read_ttl(conn);
	struct renew_task *task = arena_alloc(&conn->arena, sizeof(*task));
	struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_SESSION_RENEW,
		.schema = &msg_session_renew_schema,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	if (ttl_s < 0)
		return;
	if (!task || record(conn, ttl_s) < 0) {
		/* What cannot be recorded does not happen. */
		conn_refuse(conn, 503, "the record could not be kept");
		return;
	}
	task->message = (struct msg_session_renew){
		.id = conn->name,
		.expires_ms = clock_wall_ms() + (uint64_t)ttl_s * 1000,
	};
	conn->task = task;
	question.message = &task->message;
	conn_ask(conn, &question, on_renewed);
}
