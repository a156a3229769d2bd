#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

/* GET /v1/audit/verify: the ledger looks at some rows at a time, so that
 * nobody waits for it; control asks until it has seen the last. */

static void ask_verify(struct conn *conn, uint64_t after);

static json_t *outcome(const struct msg_ledger_verified *verified)
{
	json_int_t first = (json_int_t)verified->first;
	json_int_t last = (json_int_t)verified->checked_to;

	if (verified->is_intact)
		return json_pack("{s:b, s:I, s:I}", "intact", 1, "first", first,
				 "rows", last - first + 1);
	return json_pack("{s:b, s:I, s:o}", "intact", 0, "broken_at",
			 (json_int_t)verified->broken_at, "detail",
			 json_text(verified->detail));
}

static void on_verified(struct conn *conn, const void *message)
{
	const struct msg_ledger_verified *verified = message;
	json_t *reply;

	if (verified->is_intact && !verified->is_done) {
		ask_verify(conn, verified->checked_to);
		return;
	}
	reply = outcome(verified);
	if (reply && verified->failing.len)
		(void)json_object_set_new(reply, "failing",
					  json_text(verified->failing));
	conn_reply_json(conn, 200, reply);
}

static void ask_verify(struct conn *conn, uint64_t after)
{
	const struct msg_ledger_verify message = {after};
	struct question question = {
		.role = ROLE_LEDGER,
		.type = MSG_LEDGER_VERIFY,
		.schema = &msg_ledger_verify_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_ledger_verified_schema,
	};

	conn_ask(conn, &question, on_verified);
}

void handle_audit_verify(struct conn *conn)
{
	ask_verify(conn, 0);
}
