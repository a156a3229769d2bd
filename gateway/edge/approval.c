#include "gateway/edge/approval.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "gateway/upstream/dial.h"

#define WORDS_MAX 256

/* ---- the question ---- */

static bool is_tunnel(const struct conn *conn)
{
	return conn->state == AT_TUNNEL_APPROVE;
}

static struct verdict *verdict_of(struct conn *conn)
{
	return is_tunnel(conn) ? &conn->errand->target_verdict : &conn->verdict;
}

struct proposal approval_question(const struct conn *conn,
				  const struct verdict *verdict)
{
	struct proposal question = {
		.rule = verdict->rule,
		.method = conn->errand->request.method,
		.scheme = (uint8_t)conn->errand->target.scheme,
		.host = bytes_str(conn->errand->target.host),
		.port = conn->errand->target.port,
		.path = conn->errand->request.path,
		.credential = verdict->credential,
		.expires_ms = conn->edge->expires_ms,
	};

	/* Who lets a page be read has not let somebody talk to it. */
	if (conn->errand->request.is_websocket)
		question.method = bytes_str("WEBSOCKET");
	if (is_tunnel(conn)) {
		question.method = bytes_str("CONNECT");
		question.scheme = SCHEME_TCP;
		question.path = bytes_from(NULL, 0);
	}
	return question;
}

/* What is asked for, in words that live as long as the request. */
static struct bytes words_of(struct conn *conn)
{
	struct proposal question = approval_question(conn, verdict_of(conn));
	auto_type(buf_release) struct buf words;

	buf_init(&words, WORDS_MAX + PROPOSAL_PATH_MAX);
	if (proposal_add_words(&words, &question) < 0)
		return question.host;
	return arena_copy(&conn->arena,
			  bytes_slice(buf_view(&words), 0, WORDS_MAX));
}

/* ---- life ---- */

static void wake(struct approval *approval)
{
	struct conn *conn = approval->conn;

	if (conn->ask)
		approval->was_woken = true;
	else
		lane_deliver(conn, EV_WAKE);
}

static void on_time_over(void *owner)
{
	struct approval *approval = owner;

	approval->is_over = true;
	wake(approval);
}

static struct approval *approval_new(struct conn *conn)
{
	struct approval *approval = calloc(1, sizeof(*approval));

	if (!approval)
		return NULL;
	approval->conn = conn;
	approval->timer =
		io_timer_new(conn->edge->keeper->loop, on_time_over, approval);
	if (!approval->timer) {
		free(approval);
		return NULL;
	}
	return approval;
}

static bool take_place(struct approval *approval, unsigned ms)
{
	struct edge *edge = approval->conn->edge;

	if (ms == 0 || edge->held_count >= APPROVALS_HELD_MAX)
		return false;
	approval->is_held = true;
	DL_APPEND(edge->held, approval);
	edge->held_count++;
	io_timer_set(approval->timer, ms);
	return true;
}

static void let_go(struct approval *approval)
{
	struct edge *edge = approval->conn->edge;

	io_timer_set(approval->timer, 0);
	if (!approval->is_held)
		return;
	approval->is_held = false;
	DL_DELETE(edge->held, approval);
	edge->held_count--;
}

/* Whoever is gone while it is held gets no answer; what was wanted is on
 * record all the same. */
static void record_gone(struct conn *conn)
{
	struct verdict verdict = conn->verdict;

	if (!conn->approval->is_held)
		return;
	if (is_tunnel(conn))
		(void)conn_record_target(conn);
	if (conn->state != AT_APPROVE || conn->on_record != RECORD_IS_DUE)
		return;
	verdict.kind = VERDICT_DENY;
	(void)conn_record_request(conn, &verdict);
}

void approval_release(struct conn *conn)
{
	struct approval *approval = conn->approval;

	if (!approval)
		return;
	record_gone(conn);
	let_go(approval);
	conn->approval = NULL;
	io_timer_free(approval->timer);
	free(approval);
}

void approvals_wake(struct edge *edge, struct bytes id)
{
	struct approval *waiting[APPROVALS_HELD_MAX];
	struct approval *approval;
	size_t count = 0;

	DL_FOREACH(edge->held, approval)
	if (id.len == 0 || bytes_is(id, approval->id))
		waiting[count++] = approval;
	/* One that wakes ends itself alone. */
	for (size_t i = 0; i < count; i++)
		wake(waiting[i]);
}

bool approval_wait(struct conn *conn, struct bytes id, unsigned ms)
{
	struct approval *approval = conn->approval;

	if (approval && approval->is_held)
		return true;
	approval_release(conn);
	approval = conn->approval = approval_new(conn);
	if (!approval)
		return false;
	(void)snprintf(approval->id, sizeof(approval->id), "%.*s",
		       BYTES_ARGS(id));
	return take_place(approval, ms);
}

bool approval_is_over(const struct conn *conn)
{
	return conn->approval && conn->approval->is_over;
}

bool approval_was_woken(struct conn *conn)
{
	bool was_woken = conn->approval && conn->approval->was_woken;

	if (was_woken)
		conn->approval->was_woken = false;
	return was_woken;
}

/* ---- the ways out ---- */

static enum step refuse(struct conn *conn, enum constraint constraint,
			const char *before, const char *after)
{
	struct approval *approval = conn->approval;
	struct bytes words = words_of(conn);

	let_go(approval);
	conn_cancel_ask(conn);
	conn->refusal = (struct refusal){
		.constraint = constraint,
		.rule = verdict_of(conn)->rule,
		.detail =
			bytes_str(arena_format(&conn->arena, "%s%.*s%s", before,
					       BYTES_ARGS(words), after)),
		.proposal = bytes_str(approval->id),
	};
	if (constraint == CONSTRAINT_approval_pending && approval->id[0])
		conn->refusal.try_instead = bytes_str(arena_format(
			&conn->arena,
			"send it again once it is approved: the session's "
			"owner runs `sallyport approval approve %s`",
			approval->id));
	return STEP_DENY;
}

static enum step refuse_pending(struct conn *conn)
{
	return refuse(conn, CONSTRAINT_approval_pending, "a person must allow ",
		      " first");
}

static enum step pass(struct conn *conn)
{
	struct verdict *verdict = verdict_of(conn);

	let_go(conn->approval);
	verdict->kind = VERDICT_ALLOW;
	verdict->constraint = CONSTRAINT_none;
	return STEP_NEXT;
}

/* ---- asking ---- */

static void take_answer(struct conn *conn, struct rpc_outcome *outcome)
{
	const struct proposal *proposal = outcome->message;
	struct approval *approval = conn->approval;

	approval->is_answered = !outcome->err;
	if (outcome->err) {
		(void)refuse(conn, constraint_of_outcome(outcome), "", "");
		conn->refusal.detail =
			arena_copy(&conn->arena, bytes_str(outcome->err->text));
		return;
	}
	(void)snprintf(approval->id, sizeof(approval->id), "%.*s",
		       BYTES_ARGS(proposal->id));
	approval->state = proposal->state;
	grants_add(&conn->edge->grants, proposal);
}

static enum step ask(struct conn *conn)
{
	struct keeper_peer *ledger =
		keeper_peer_of(conn->edge->keeper, ROLE_LEDGER);
	const struct proposal question =
		approval_question(conn, verdict_of(conn));
	const struct rpc_call call = {
		.type = MSG_PROPOSAL_TAKE,
		.schema = &proposal_schema,
		.message = &question,
		.fd = -1,
		.reply_schema = &proposal_schema,
	};

	conn->approval->was_woken = false;
	return conn_ask(conn, ledger ? ledger->rpc : NULL, &call, take_answer) <
			       0
		       ? STEP_DENY
		       : STEP_STAY;
}

static enum step begin(struct conn *conn)
{
	const struct proposal question =
		approval_question(conn, verdict_of(conn));
	const struct grant *grant;

	approval_release(conn);
	conn->approval = approval_new(conn);
	if (!conn->approval) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return STEP_DENY;
	}
	grant = grants_find(&conn->edge->grants, &question, clock_wall_ms());
	if (!grant)
		return ask(conn);
	memcpy(conn->approval->id, grant->id, sizeof(grant->id));
	return pass(conn);
}

/* Nobody is asked to hold what has no time, no place or no client: one that
 * ended its side cannot be told from one that is gone. */
static enum step hold(struct conn *conn)
{
	struct approval *approval = conn->approval;

	if (approval->is_over || conn->is_eof)
		return refuse_pending(conn);
	if (approval->is_held)
		return STEP_STAY;
	return take_place(approval, verdict_of(conn)->hold_ms)
		       ? STEP_STAY
		       : refuse_pending(conn);
}

static enum step on_answer(struct conn *conn)
{
	struct approval *approval = conn->approval;

	if (!approval->is_answered)
		return STEP_DENY;
	if (approval->state == PROPOSAL_APPROVED)
		return pass(conn);
	if (approval->state == PROPOSAL_DENIED)
		return refuse(conn, CONSTRAINT_approval_denied,
			      "a person has denied ", "");
	if (approval->was_woken && !approval->is_over)
		return ask(conn);
	return hold(conn);
}

static enum step step(struct conn *conn, enum lane_event event)
{
	switch ((unsigned)event) {
	case EV_ENTER:
		return verdict_of(conn)->kind == VERDICT_ASK ? begin(conn)
							     : STEP_NEXT;
	case EV_ANSWER:
		return on_answer(conn);
	case EV_WAKE:
		return conn->approval->is_over ? refuse_pending(conn)
					       : ask(conn);
	case EV_EOF:
		return refuse_pending(conn);
	default:
		return STEP_STAY;
	}
}

enum step approval_step(struct conn *conn, enum lane_event event)
{
	return step(conn, event);
}

/* Nothing can be said in a tunnel: the record has it. */
enum step approval_tunnel_step(struct conn *conn, enum lane_event event)
{
	enum step next;

	if (event == EV_ENTER &&
	    conn->errand->target_verdict.kind != VERDICT_ASK)
		return STEP_NEXT;
	next = step(conn, event);
	if (next == STEP_STAY)
		return STEP_STAY;
	if (next == STEP_DENY) {
		conn->errand->target_verdict.kind = VERDICT_DENY;
		conn->errand->target_verdict.constraint =
			conn->refusal.constraint;
		conn->errand->target_verdict.reason = conn->refusal.detail;
	}
	if (conn_record_target(conn) < 0 || next == STEP_DENY)
		return STEP_END;
	return STEP_NEXT;
}
