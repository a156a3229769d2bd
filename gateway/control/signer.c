#include "gateway/control/signer.h"

#include "common/log.h"
#include "gateway/control/json.h"

/* Of one question, in the request's arena. */
struct asking {
	struct conn *conn;
	struct bytes session;
	bool is_new;
};

/* Nobody was told of it. */
static void undo(const struct asking *asking)
{
	struct err err;

	if (asking->is_new &&
	    ask_end_session(asking->conn->control, asking->session, &err) < 0)
		log_warn("session %.*s stays without an owner: %s",
			 BYTES_ARGS(asking->session), err.text);
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	const struct asking *asking = owner;
	struct conn *conn = asking->conn;

	conn->ask = NULL;
	if (!outcome->err) {
		conn->on_answer(conn, outcome->message);
		return;
	}
	/* One that is late is undone by ask.c. */
	if (outcome->err->code != ERR_TIMEOUT)
		undo(asking);
	conn_refuse_outcome(conn, outcome);
}

void signer_ask(struct conn *conn, struct bytes session, bool is_new,
		conn_answer_fn *fn)
{
	struct asking *asking = arena_alloc(&conn->http.arena, sizeof(*asking));
	const struct msg_session_ref message = {.id = session};
	const struct question question = {
		.role = ROLE_VAULT,
		.type = MSG_SIGNER_GET,
		.schema = &msg_session_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_signer_schema,
		.fn = on_outcome,
		.owner = asking,
		.undo = is_new ? session : bytes_from(NULL, 0),
	};
	struct asking here = {conn, session, is_new};
	struct err err = {.text = "no memory"};

	if (asking) {
		*asking = here;
		conn->on_answer = fn;
		conn->ask = ask_send(conn->control, &question, &err);
	}
	if (asking && conn->ask)
		return;
	undo(&here);
	conn_refuse(conn, 503, "%s", err.text);
}

json_t *signer_json(const struct msg_signer *signer)
{
	bool has_key = signer->public_key.len > 0;

	if (!signer->is_on)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "name",
			 json_text(signer->name), "email",
			 json_text(signer->email), "public_key",
			 has_key ? json_text(signer->public_key) : json_null(),
			 "why", has_key ? json_null() : json_text(signer->why));
}
