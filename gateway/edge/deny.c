#include <stdarg.h>

#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/edge/lfs_lane.h"

void conn_refuse(struct conn *conn, enum constraint constraint,
		 const char *format, ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	conn->refusal = (struct refusal){
		.constraint = constraint,
		.rule = conn->verdict.rule,
		.detail = arena_copy(&conn->arena, bytes_str(text)),
	};
}

void conn_refuse_target(struct conn *conn)
{
	conn->refusal =
		advice_target(conn->law->policy, &conn->errand->target,
			      &conn->errand->target_verdict, &conn->arena);
}

void conn_refuse_request(struct conn *conn)
{
	conn->refusal = advice_request(conn->law->policy, &conn->errand->target,
				       &conn->errand->request, &conn->verdict,
				       &conn->arena);
}

void conn_refuse_upstream(struct conn *conn)
{
	struct upstream_fault fault = upstream_fault(conn->up);

	conn_refuse(conn, fault.constraint, "%s", fault.detail);
}

/* A body that was not read whole: the next request cannot be found behind
 * it. */
static bool must_close(const struct conn *conn)
{
	return conn->close_after || !conn->body_done ||
	       !conn->errand->request.keep_alive;
}

/* A denial that cannot be recorded stays one, for another reason. */
static void record_refusal(struct conn *conn)
{
	struct verdict verdict = conn->verdict;

	verdict.kind = VERDICT_DENY;
	verdict.constraint = conn->refusal.constraint;
	if (verdict.reason.len == 0)
		verdict.reason = conn->refusal.detail;
	if (conn->on_record == RECORD_IS_DUE)
		(void)conn_record_request(conn, &verdict);
	else
		conn_record_end(conn);
}

/* git's first request to a repository, of the policy or of any: git shows the
 * text of a refusal, and nothing of JSON. */
static bool is_for_git(const struct conn *conn)
{
	const struct request_facts facts =
		request_facts_of(&conn->errand->target, &conn->errand->request);
	struct bytes path;
	enum git_endpoint endpoint = git_endpoint_of(&facts, &path);

	return endpoint == GIT_ADVERTISE_READ ||
	       endpoint == GIT_ADVERTISE_WRITE;
}

int conn_write_refusal(struct conn *conn)
{
	auto_type(buf_release) struct buf out = {0};
	struct problem problem = {
		.refusal = &conn->refusal,
		.session = bytes_str(conn->edge->session_id),
		.request_id = bytes_str(conn->request_id),
		.is_head = bytes_is(conn->errand->request.method, "HEAD"),
		.close = must_close(conn),
		.is_for_git = is_for_git(conn),
	};

	conn->reply_status = constraint_status(conn->refusal.constraint);
	record_refusal(conn);
	conn->reply_status = constraint_status(conn->refusal.constraint);
	if (conn->refusal.constraint == CONSTRAINT_limit_rate)
		problem.retry_after_s = rate_retry_after_s(conn);
	conn->close_after = problem.close;
	conn->has_replied = true;
	if (conn->git && conn->git->is_moved)
		return git_reply_moved(conn);
	buf_init(&out, PROBLEM_BYTES_MAX);
	if ((conn->lfs ? lfs_problem_write : problem_write)(&out, &problem) < 0)
		return -1;
	return io_write(conn->client, buf_view(&out));
}
