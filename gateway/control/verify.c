#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

/* GET /v1/audit/verify: the ledger looks at some rows at a time, so that
 * nobody waits for it; control asks until it has seen the last. */

static void ask_verify(struct conn *conn, uint64_t after);

static void on_verified(struct conn *conn, const void *message)
{
	const struct msg_ledger_verified *verified = message;

	if (!verified->is_intact)
		conn_reply_json(
			conn, 200,
			json_pack("{s:b, s:I, s:o}", "intact", 0, "broken_at",
				  (json_int_t)verified->broken_at, "detail",
				  json_text(verified->detail)));
	else if (verified->is_done)
		conn_reply_json(conn, 200,
				json_pack("{s:b, s:I, s:I}", "intact", 1,
					  "first", (json_int_t)verified->first,
					  "rows",
					  (json_int_t)(verified->checked_to -
						       verified->first + 1)));
	else
		ask_verify(conn, verified->checked_to);
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
