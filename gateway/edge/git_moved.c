/*
 * A repository that has another name now: upstream's redirect is never
 * followed, and told where git shows it.
 */
#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/git/endpoint.h"
#include "gateway/git/moved.h"

/* Does the policy name it there, too? Then git may go there itself. */
static bool is_known(const struct conn *conn, const struct policy_repo *moved)
{
	const struct target_facts target = {moved->host, moved->port};

	return moved->url.len &&
	       decide_repo(conn->law->policy, &target, moved->path);
}

static void advise(struct conn *conn, const struct policy_repo *moved)
{
	const char *text = arena_format(
		&conn->git->arena,
		is_known(conn, moved)
			? "git remote set-url origin %.*s"
			: "name it so in the policy (git: - repo: %.*s), and "
			  "as the remote's URL",
		BYTES_ARGS(moved->url));

	conn->refusal.try_instead = bytes_str(text);
}

int git_check_moved(struct conn *conn, bool may_follow)
{
	const struct response *response = upstream_response(conn->up);
	const struct field *place;
	struct policy_repo moved;

	if (!git_is_redirect(response->status))
		return 0;
	place = fields_find(&response->fields, "Location");
	if (git_moved_to(place ? place->value : bytes_from(NULL, 0),
			 &conn->errand->target, &conn->git->arena, &moved) < 0)
		moved.url = bytes_from(NULL, 0);
	if (may_follow && is_known(conn, &moved))
		return 0;
	conn->git->is_moved = true;
	if (moved.url.len == 0) {
		conn_refuse(conn, CONSTRAINT_git_not_allowed,
			    "%s sends git elsewhere (%u), to no repository",
			    conn->errand->target.host, response->status);
		return -1;
	}
	conn_refuse(conn, CONSTRAINT_git_not_allowed,
		    "%s says that this repository is now %.*s",
		    conn->errand->target.host, BYTES_ARGS(moved.url));
	advise(conn, &moved);
	return -1;
}

int git_reply_moved(struct conn *conn)
{
	const struct git_work *work = conn->git;
	const struct verdict verdict = {
		.kind = VERDICT_DENY,
		.constraint = conn->refusal.constraint,
		.rule = conn->refusal.rule,
		.reason = conn->refusal.detail,
	};
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf body;

	buf_init(&text, REPORT_ADVICE_MAX);
	buf_init(&body, 2 * REPORT_ADVICE_MAX);
	if (report_explain(&verdict, work->repo, &text) < 0)
		return -1;
	/* Names can be long: what does not fit is left out. */
	if (conn->refusal.try_instead.len)
		(void)buf_add_format(&text, "try: %.*s\n",
				     BYTES_ARGS(conn->refusal.try_instead));
	if (work->endpoint != GIT_ADVERTISE_WRITE)
		return git_reply(conn,
				 constraint_status(conn->refusal.constraint),
				 "text/plain; charset=utf-8", buf_view(&text));
	if (report_refuse_repository(work->endpoint, buf_view(&text), &body) <
	    0)
		return -1;
	return git_reply(conn, 200, git_answer_type(work->endpoint),
			 buf_view(&body));
}
