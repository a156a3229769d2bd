/*
 * A push up to its decision, and its refusal.
 */
#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/git/endpoint.h"

/* ---- COMMANDS ---- */

static int sink_commands(struct conn *conn, struct bytes bytes)
{
	struct git_work *work = conn->git;
	size_t used = 0;

	if (work->parsed == COMMANDS_MORE)
		work->parsed = commands_feed(&work->commands, bytes, &used);
	if (work->parsed != COMMANDS_PUSH)
		return 0;
	if (buf_add(&work->held, bytes_slice(bytes, used, bytes.len)) < 0) {
		conn_refuse(conn, CONSTRAINT_push_too_large,
			    "too much of the pack came with the commands");
		return -1;
	}
	return 0;
}

static bool commands_are_read(struct conn *conn)
{
	return conn->git->parsed != COMMANDS_MORE;
}

/* The 4-byte probe: git asks whether a large push may come at all. */
static enum step answer_probe(struct conn *conn)
{
	if (git_reply(conn, 200, git_answer_type(GIT_RECEIVE_PACK),
		      bytes_from(NULL, 0)) < 0 ||
	    !conn->errand->request.keep_alive)
		return STEP_END;
	return STEP_OTHER;
}

enum step git_step_commands(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;

	if (event == EV_ENTER)
		conn_continue(conn);
	if (conn_pump_body(conn, sink_commands, commands_are_read) < 0)
		return git_refuse_push(conn);
	if (work->parsed == COMMANDS_MORE && conn->body_done)
		work->parsed = commands_end(&work->commands);
	switch (work->parsed) {
	case COMMANDS_MORE:
		return STEP_STAY;
	case COMMANDS_PROBE:
		return answer_probe(conn);
	case COMMANDS_PUSH:
		git_start_ahead(conn);
		return STEP_NEXT;
	case COMMANDS_REFUSED:
	default:
		conn->refusal.constraint = work->commands.verdict.constraint;
		conn->refusal.detail = work->commands.verdict.reason;
		return git_refuse_push(conn);
	}
}

/* ---- TIPS ---- */

static int learn_tips(struct conn *conn)
{
	struct err err;

	if (advertise_feed(&conn->git->adv, upstream_span(conn->up), NULL,
			   &err) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_response_malformed, "%s", err.text);
	return -1;
}

static enum step tips_learnt(struct conn *conn)
{
	struct git_work *work = conn->git;
	struct err err;

	if (advertise_end(&work->adv, &err) < 0 || work->adv.is_error) {
		conn_refuse(conn, CONSTRAINT_response_malformed, "%s",
			    work->adv.is_error
				    ? "upstream refused to tell its refs"
				    : err.text);
		return git_refuse_push(conn);
	}
	conn_put_upstream(conn);
	return STEP_NEXT;
}

enum step git_step_tips(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;
	int result = 0;

	switch ((unsigned)event) {
	case EV_ENTER:
		advertise_release(&work->adv);
		advertise_init(&work->adv, work->repo, &work->refs, 0);
		result = conn_get_upstream(conn, work->repo->credential);
		break;
	case EV_UP_READY:
		result = git_send_own(conn, "info/refs",
				      "service=git-receive-pack",
				      bytes_from(NULL, 0));
		break;
	case EV_UP_HEAD:
		result = git_check_answer(conn,
					  git_answer_type(GIT_ADVERTISE_WRITE));
		break;
	case EV_UP_BODY:
		result = learn_tips(conn);
		break;
	case EV_UP_END:
		return tips_learnt(conn);
	default:
		conn_refuse_upstream(conn);
		result = -1;
		break;
	}
	return result < 0 ? git_refuse_push(conn) : STEP_STAY;
}

/* ---- DECIDE ---- */

static const char *verb_name(enum push_verb verb)
{
	static const char *const names[] = {
		[PUSH_CREATE] = "create",
		[PUSH_UPDATE] = "update",
		[PUSH_FAST_FORWARD] = "fast-forward",
		[PUSH_REWRITE] = "rewrite",
		[PUSH_DELETE] = "delete",
	};

	return verb < PUSH_VERB_MAX ? names[verb] : "unknown";
}

int git_record_push(struct conn *conn)
{
	const struct push *push = &conn->git->commands.push;

	for (size_t i = 0; i < push->update_count; i++) {
		const struct push_update *update = &push->updates[i];
		const struct record record = {
			.kind = RECORD_PUSH,
			.allowed = update->verdict.kind == VERDICT_ALLOW,
			.constraint = (uint16_t)update->verdict.constraint,
			.request_id = bytes_str(conn->request_id),
			.rule = update->verdict.rule,
			.host = bytes_str(conn->errand->target.host),
			.port = conn->errand->target.port,
			.method = bytes_str(verb_name(update->verb)),
			.path = update->ref,
			.credential = conn->verdict.credential,
			.detail = update->verdict.reason,
			.old_oid = update->old_oid,
			.new_oid = update->new_oid,
		};

		if (edge_record(conn->edge, &record) < 0)
			return -1;
	}
	return 0;
}

static enum step not_recorded(struct conn *conn)
{
	conn_refuse(conn, CONSTRAINT_audit_unavailable, "%s",
		    constraint_text(CONSTRAINT_audit_unavailable));
	return git_refuse_push(conn);
}

/* NEXT: send it on; OTHER: its pack must be looked at first. */
enum step git_step_decide(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;

	(void)event;
	push_decide(&work->commands.push, work->repo, &work->refs,
		    &work->ruling);
	if (work->ruling.is_allowed)
		push_decide_options(&work->commands.push, work->repo,
				    &work->arena, &work->ruling);
	if (!work->ruling.is_allowed) {
		conn->refusal.constraint = work->ruling.verdict.constraint;
		(void)git_record_push(conn);
		return STEP_DENY;
	}
	if (git_look_at_names(conn) < 0)
		return git_refuse_push(conn);
	work->looks =
		work->commands.push.has_pack && push_checks_any(work->repo);
	if (work->ruling.needs_proof || work->looks)
		return STEP_OTHER;
	git_packcheck_release(work);
	return git_record_push(conn) < 0 ? not_recorded(conn) : STEP_NEXT;
}

/* ---- REFUSE ---- */

enum step git_refuse_push(struct conn *conn)
{
	struct git_work *work = conn->git;

	work->is_refused = true;
	push_refuse(&work->commands.push, conn->refusal.constraint,
		    conn->refusal.detail, &work->ruling);
	(void)git_record_push(conn);
	return STEP_DENY;
}

static int write_report(struct conn *conn, struct buf *body)
{
	struct git_work *work = conn->git;
	const struct push *push = &work->commands.push;
	const struct report_advice advice = {
		.push = push,
		.ruling = &work->ruling,
		.repo = work->repo,
		.session = bytes_str(conn->edge->session_id),
		.request_id = bytes_str(conn->request_id),
	};
	const struct verdict malformed = {
		.kind = VERDICT_DENY,
		.constraint = conn->refusal.constraint,
		.rule = conn->verdict.rule,
		.reason = conn->refusal.detail,
	};
	auto_type(buf_release) struct buf text;

	buf_init(&text, REPORT_ADVICE_MAX);
	if (work->parsed != COMMANDS_PUSH)
		return report_malformed(push, &malformed, body);
	if (report_advise(&advice, &text) < 0)
		return -1;
	return report_refuse(push, buf_view(&text), body);
}

static int sink_nothing(struct conn *conn, struct bytes bytes)
{
	(void)conn;
	(void)bytes;
	return 0;
}

static bool drained_enough(struct conn *conn)
{
	return conn->bytes_up > PUSH_DRAIN_BYTES_MAX;
}

/* A client that asked for no report only notices the status. */
static int reply_report(struct conn *conn, struct bytes body)
{
	const struct git_work *work = conn->git;

	if (work->parsed == COMMANDS_PUSH &&
	    !report_is_heard(&work->commands.push))
		return git_reply(conn, 403, "text/plain; charset=utf-8", body);
	return git_reply(conn, 200, git_answer_type(GIT_RECEIVE_PACK), body);
}

/* Say it at once, in git's words; then read what the client still sends, so
 * that it hears us (git.md, "Refusal"). */
enum step git_step_refuse(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;
	auto_type(buf_release) struct buf body = {0};

	if (event == EV_ENTER) {
		conn_put_upstream(conn);
		git_packcheck_release(work);
		/* A deadline brings us here without a ruling. */
		if (!work->is_refused && work->ruling.denied_count == 0)
			(void)git_refuse_push(conn);
		if (conn->has_replied)
			return STEP_OTHER;
		buf_init(&body,
			 REPORT_BYTES_MAX(work->commands.push.update_count));
		if (write_report(conn, &body) < 0 ||
		    reply_report(conn, buf_view(&body)) < 0)
			return STEP_END;
		conn->filter_up = NULL;
	}
	if (conn->close_after || drained_enough(conn) ||
	    conn_pump_body(conn, sink_nothing, drained_enough) < 0)
		return STEP_OTHER;
	if (!conn->body_done)
		return STEP_STAY;
	return conn->errand->request.keep_alive ? STEP_NEXT : STEP_OTHER;
}
