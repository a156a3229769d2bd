#include "gateway/control/ask.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"

#define TOKEN 1000 /* one question, in the bucket's unit */

struct ask {
	struct control *control;
	ask_fn *fn;
	void *owner;
	uint16_t type;
	bool is_left;
	char undo[SESSION_ID_MAX + 1];
	uid_t uid; /* who wanted the session */
};

/* Half of what each keeper's permit table allows. */
static unsigned rate_of(uint16_t type)
{
	switch (type) {
	case MSG_SESSION_LIST:
	case MSG_SESSION_REVOKE:
	case MSG_SESSION_ATTACH:
	case MSG_SESSION_PACKAGE:
	case MSG_SESSION_CHANGE:
		return 500;
	case MSG_PROPOSAL_TAKE: /* those who wait ask each second */
		return 250;
	case MSG_SESSION_CREATE:
	case MSG_LEDGER_QUERY:
	case MSG_LEDGER_VERIFY:
	case MSG_LEDGER_FOLLOW:
	case MSG_SIGNER_GET:
		return 100;
	case MSG_PROCESS_LIST:
	case MSG_PROPOSAL_GET:
	case MSG_PROPOSAL_LIST:
	case MSG_PROPOSAL_DECIDE:
		return 50;
	case MSG_SECRET_PUT:
	case MSG_SECRET_ROTATE:
	case MSG_SECRET_LIST:
	case MSG_SECRET_REMOVE:
	case MSG_LENT_PUT:
	case MSG_LENT_REMOVE:
		return 25;
	default:
		return 10;
	}
}

bool ask_rate_take(struct control_rate *rate, unsigned per_second,
		   uint64_t now_ms)
{
	uint64_t full = (uint64_t)per_second * TOKEN;
	uint64_t waited = now_ms - rate->at_ms;

	if (rate->at_ms == 0 || waited >= 1000)
		rate->level = full;
	else
		rate->level += waited * per_second;
	if (rate->level > full)
		rate->level = full;
	rate->at_ms = now_ms;
	if (rate->level < TOKEN || rate->open >= per_second)
		return false;
	rate->level -= TOKEN;
	rate->open++;
	return true;
}

static struct rpc *channel_to(const struct control *control, enum role role)
{
	const struct keeper_peer *peer;

	if (role == ROLE_WARDEN)
		return control->keeper->warden;
	peer = keeper_peer_of(control->keeper, role);
	return peer ? peer->rpc : NULL;
}

/* That somebody creates it is on record before the warden is asked; so is then
 * that it was not made. */
static void tell_not_made(struct control *control, struct bytes session,
			  uid_t uid, const struct rpc_outcome *outcome)
{
	const struct rpc_refusal *refusal =
		outcome->err->code == ERR_DENIED ? outcome->refusal : NULL;
	char detail[512];
	struct record record = {
		.kind = RECORD_ADMIN,
		.constraint = refusal && refusal->code < CONSTRAINT_MAX
				      ? refusal->code
				      : (uint16_t)CONSTRAINT_internal,
		.session = session,
		.host = bytes_str("control"),
		.method = bytes_str("session.create"),
	};

	(void)snprintf(detail, sizeof(detail), "uid %u: it was not made: %.*s",
		       uid,
		       BYTES_ARGS(refusal ? refusal->detail
					  : bytes_str(outcome->err->text)));
	record.detail = bytes_str(detail);
	if (keeper_record(control->keeper, &record) < 0)
		log_error("session %.*s was not made, and that is not on "
			  "record",
			  BYTES_ARGS(session));
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct ask *ask = owner;
	/* What is late may be done yet: its end comes after it. */
	bool undoes = ask->undo[0] &&
		      (ask->is_left ||
		       (outcome->err && outcome->err->code == ERR_TIMEOUT));
	struct err err;

	ask->control->rates[ask->type].open--;
	if (outcome->err && ask->type == MSG_SESSION_CREATE)
		tell_not_made(ask->control, bytes_str(ask->undo), ask->uid,
			      outcome);
	if (!ask->is_left && ask->fn)
		ask->fn(outcome, ask->owner);
	if (undoes &&
	    ask_end_session(ask->control, bytes_str(ask->undo), &err) < 0)
		log_warn("session %s stays without an owner: %s", ask->undo,
			 err.text);
}

static struct ask *ask_peer(struct control *control,
			    const struct question *question, struct err *err)
{
	struct control_rate *rate = &control->rates[question->type];
	struct rpc *rpc = channel_to(control, question->role);
	auto_free struct ask *ask = calloc(1, sizeof(*ask));
	const struct rpc_call call = {
		.type = question->type,
		.schema = question->schema,
		.message = question->message,
		.fd = question->fd,
		.reply_schema = question->reply_schema,
		.timeout_ms = question->timeout_ms ? question->timeout_ms
						   : ASK_TIMEOUT_MS,
		.on_outcome = on_outcome,
		.owner = ask,
	};

	if (!rpc || !ask) {
		(void)err_set(err, ERR_CLOSED, "the %s is not there just now",
			      role_name(question->role));
		return NULL;
	}
	if (!ask_rate_take(rate, rate_of(question->type),
			   io_loop_now_ms(control->keeper->loop))) {
		(void)err_set(err, ERR_TOO_LARGE,
			      "the %s is asked too often: try again",
			      role_name(question->role));
		return NULL;
	}
	*ask = (struct ask){.control = control,
			    .fn = question->fn,
			    .owner = question->owner,
			    .type = question->type,
			    .uid = question->uid};
	if (question->undo.len)
		memcpy(ask->undo, question->undo.data, question->undo.len);
	if (rpc_ask(rpc, &call, NULL, err) < 0) {
		rate->open--;
		return NULL;
	}
	return take_ptr(&ask);
}

struct ask *ask_send(struct control *control, const struct question *question,
		     struct err *err)
{
	struct ask *ask = ask_peer(control, question, err);

	if (!ask && question->type == MSG_SESSION_CREATE)
		tell_not_made(control, question->undo, question->uid,
			      &(struct rpc_outcome){.err = err});
	return ask;
}

void ask_leave(struct ask *ask)
{
	if (ask)
		ask->is_left = true;
}

int ask_end_session(struct control *control, struct bytes id, struct err *err)
{
	const struct msg_session_ref message = {.id = id,
						.reason = bytes_str("ended")};
	const struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_SESSION_REVOKE,
		.schema = &msg_session_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	return ask_send(control, &question, err) ? 0 : -1;
}
