/*
 * Where git requests enter and part; the lane's table.
 */
#include "gateway/edge/git_lane.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/edge/attach.h"
#include "gateway/git/endpoint.h"
#include "policies/guardrail.h"

/* ---- life ---- */

static struct git_work *work_new(struct conn *conn)
{
	struct git_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->conn = conn;
	work->pack_fd = work->ancestry_fd = -1;
	arena_init(&work->arena, GIT_ARENA_MAX);
	buf_init(&work->held, GIT_HELD_MAX);
	git_refs_init(&work->refs);
	fetch_advertise_init(&work->fetch_adv);
	ancestry_reader_init(&work->reader);
	commands_init(&work->commands, &work->arena);
	return work;
}

void git_work_release(struct conn *conn)
{
	struct git_work *work = conn->git;

	if (!work)
		return;
	git_record_unheard(conn);
	conn->git = NULL;
	inflater_free(work->inflater);
	fetch_request_release(&work->fetch);
	fetch_advertise_release(&work->fetch_adv);
	advertise_release(&work->adv);
	commands_release(&work->commands);
	ancestry_reader_release(&work->reader);
	if (work->has_report)
		report_reader_release(&work->report);
	git_refs_release(&work->refs);
	buf_release(&work->held);
	arena_release(&work->arena);
	git_packcheck_release(work);
	if (work->pack_fd >= 0)
		(void)close(work->pack_fd);
	if (work->ancestry_fd >= 0)
		(void)close(work->ancestry_fd);
	conn->edge->spooled -= work->spooled;
	conn->edge->pushes -= work->endpoint == GIT_RECEIVE_PACK;
	free(work);
}

/* ---- is it ours? ---- */

/* The repository's path as the client spells it: what comes before the
 * endpoint's own part. */
static struct bytes url_path_of(struct bytes path, enum git_endpoint endpoint)
{
	static const char *const suffixes[] = {
		[GIT_ADVERTISE_READ] = "/info/refs",
		[GIT_ADVERTISE_WRITE] = "/info/refs",
		[GIT_UPLOAD_PACK] = "/git-upload-pack",
		[GIT_RECEIVE_PACK] = "/git-receive-pack",
	};
	struct bytes suffix = bytes_str(
		endpoint < ARRAY_SIZE(suffixes) ? suffixes[endpoint] : NULL);

	if (!bytes_ends_with(path, suffix))
		return path;
	return bytes_slice(path, 0, path.len - suffix.len);
}

bool git_is_ours(struct conn *conn)
{
	struct request_facts facts =
		request_facts_of(&conn->errand->target, &conn->errand->request);
	struct bytes repo_path;
	enum git_endpoint endpoint;
	const struct policy_repo *repo;

	/* Of most hosts: a look at the path costs more than the rest. */
	if (!decide_host_has_repo(conn->law->policy, &facts.target))
		return false;
	endpoint = git_endpoint_of(&facts, &repo_path);
	if (endpoint == GIT_NONE ||
	    !request_is_for(&conn->errand->request, &conn->errand->target))
		return false;
	repo = decide_repo(conn->law->policy, &facts.target, repo_path);
	if (!repo)
		return false;
	conn->git = work_new(conn);
	if (!conn->git)
		return true;
	conn->git->endpoint = endpoint;
	conn->edge->pushes += endpoint == GIT_RECEIVE_PACK;
	conn->git->repo = repo;
	conn->git->url_path = url_path_of(conn->errand->request.path, endpoint);
	return true;
}

/* ---- replies of our own ---- */

int git_reply(struct conn *conn, unsigned status, const char *type,
	      struct bytes body)
{
	struct field items[2] = {
		{bytes_str("Content-Type"), bytes_str(type)},
		{bytes_str("Cache-Control"), bytes_str(GIT_CACHE_CONTROL)},
	};
	const struct response response = {
		.status = status,
		.reason = bytes_str(status == 200 ? "OK" : "egress denied"),
		.fields = {.items = items, .count = 2, .room = 2},
		.framing = FRAMING_LENGTH,
		.body_len = body.len,
	};
	auto_type(buf_release) struct buf out;
	bool is_head = bytes_is(conn->errand->request.method, "HEAD");

	buf_init(&out, HEAD_BYTES_MAX);
	conn->reply_framing = FRAMING_LENGTH;
	conn->has_replied = true;
	conn->reply_status = status;
	if (write_response(&out, &response,
			   conn->errand->request.keep_alive &&
				   !conn->close_after) < 0 ||
	    io_write(conn->client, buf_view(&out)) < 0)
		return -1;
	return is_head ? 0 : io_write(conn->client, body);
}

/* ---- BEGIN, OPEN ---- */

static bool is_write(enum git_endpoint endpoint)
{
	return endpoint == GIT_ADVERTISE_WRITE || endpoint == GIT_RECEIVE_PACK;
}

static struct verdict decide_endpoint(const struct git_work *work)
{
	const struct policy_repo *repo = work->repo;
	const struct request_facts facts = request_facts_of(
		&work->conn->errand->target, &work->conn->errand->request);
	struct verdict guard =
		guard_git(work->conn->law->policy, &facts, repo, NULL);
	struct verdict verdict = decide_fetch(repo);

	if (guard.kind != VERDICT_ALLOW)
		return guard;
	if (work->endpoint == GIT_DUMB || work->endpoint == GIT_AMBIGUOUS) {
		verdict.kind = VERDICT_DENY;
		verdict.constraint = work->endpoint == GIT_DUMB
					     ? CONSTRAINT_git_dumb_http
					     : CONSTRAINT_git_not_allowed;
	} else if (work->endpoint == GIT_RECEIVE_PACK &&
		   work->conn->edge->pushes > PUSHES_MAX) {
		verdict.kind = VERDICT_DENY;
		verdict.constraint = CONSTRAINT_limit_connections;
	} else if (is_write(work->endpoint)) {
		bool any = repo->verbs &&
			   (repo->branches.count || repo->tags.count);

		verdict.kind = any ? VERDICT_ALLOW : VERDICT_DENY;
		verdict.constraint =
			any ? CONSTRAINT_none : CONSTRAINT_push_ref_not_allowed;
	}
	verdict.credential = verdict.kind == VERDICT_ALLOW
				     ? repo->credential
				     : bytes_from(NULL, 0);
	return verdict;
}

/* In git's words, where git looks for them. */
static int reply_refusal(struct conn *conn)
{
	struct git_work *work = conn->git;
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf body;

	buf_init(&text, REPORT_ADVICE_MAX);
	buf_init(&body, 2 * REPORT_ADVICE_MAX);
	if (report_explain(&conn->verdict, work->repo, &text) < 0)
		return -1;
	if (work->endpoint != GIT_ADVERTISE_WRITE)
		return git_reply(conn, 403, "text/plain; charset=utf-8",
				 buf_view(&text));
	if (report_refuse_repository(work->endpoint, buf_view(&text), &body) <
	    0)
		return -1;
	return git_reply(conn, 200, git_answer_type(work->endpoint),
			 buf_view(&body));
}

static bool is_info_refs(enum git_endpoint endpoint)
{
	return endpoint == GIT_ADVERTISE_READ ||
	       endpoint == GIT_ADVERTISE_WRITE || endpoint == GIT_DUMB;
}

/* NEXT: allowed; OTHER: refused, in git's words; DENY: in HTTP's, and where
 * a body still comes that this answer would not wait for. */
static enum step step_begin(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;

	(void)event;
	if (!work) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return STEP_DENY;
	}
	conn->verdict = decide_endpoint(work);
	if ((conn->verdict.kind == VERDICT_ALLOW &&
	     rate_begin(conn, conn->errand->request.body_len) < 0) ||
	    conn_record_request(conn, &conn->verdict) < 0)
		return STEP_DENY;
	if (conn->verdict.kind == VERDICT_ALLOW)
		return STEP_NEXT;
	if (!is_info_refs(work->endpoint) || !conn->body_done ||
	    !conn->errand->request.keep_alive) {
		conn_refuse(conn, conn->verdict.constraint, "%s",
			    constraint_text(conn->verdict.constraint));
		return STEP_DENY;
	}
	return reply_refusal(conn) < 0 ? STEP_END : STEP_OTHER;
}

/* NEXT: a read, or an advertisement; OTHER: a push. */
static enum step step_open(struct conn *conn, enum lane_event event)
{
	(void)event;
	if (attach_prepare(conn, true) < 0 || git_set_filters(conn) < 0)
		return STEP_DENY;
	if (conn->git->endpoint == GIT_ADVERTISE_WRITE)
		git_packcheck_soon(conn);
	return conn->git->endpoint == GIT_RECEIVE_PACK ? STEP_OTHER : STEP_NEXT;
}

#define ON_CLIENT (EV_BIT(EV_DATA) | EV_BIT(EV_EOF))
#define ON_UP	  (EV_BIT(EV_UP_READY) | EV_UP_RESPONSE)

const struct lane_state git_states[] = {
	[AT_GIT_BEGIN] = {"git_begin", step_begin, 0, DEADLINE_HEAD_MS,
			  DEADLINE_FIXED, AT_GIT_OPEN, AT_HEAD, AT_DENY},
	[AT_GIT_OPEN] = {"git_open", step_open, 0, DEADLINE_HEAD_MS,
			 DEADLINE_FIXED, AT_EXCHANGE, AT_GIT_COMMANDS, AT_DENY},
	[AT_GIT_COMMANDS] = {"git_commands", git_step_commands, ON_CLIENT,
			     DEADLINE_BODY_MS, DEADLINE_PROGRESS, AT_GIT_TIPS,
			     AT_HEAD, AT_GIT_REFUSE},
	[AT_GIT_TIPS] = {"git_tips", git_step_tips, ON_UP, DEADLINE_UPSTREAM_MS,
			 DEADLINE_PROGRESS, AT_GIT_DECIDE, AT_NONE,
			 AT_GIT_REFUSE},
	[AT_GIT_DECIDE] = {"git_decide", git_step_decide, 0, DEADLINE_HEAD_MS,
			   DEADLINE_FIXED, AT_GIT_SEND, AT_GIT_SPOOL,
			   AT_GIT_REFUSE},
	[AT_GIT_SPOOL] = {"git_spool", git_step_spool, ON_CLIENT,
			  DEADLINE_BODY_MS, DEADLINE_PROGRESS, AT_GIT_PROVE,
			  AT_NONE, AT_GIT_REFUSE},
	[AT_GIT_PROVE] = {"git_prove", git_step_prove, EV_BIT(EV_ANSWER),
			  DEADLINE_PROVE_MS, DEADLINE_FIXED, AT_GIT_SEND,
			  AT_GIT_CAPABILITIES, AT_GIT_REFUSE},
	[AT_GIT_CAPABILITIES] = {"git_capabilities", git_step_capabilities,
				 ON_UP, DEADLINE_UPSTREAM_MS, DEADLINE_PROGRESS,
				 AT_GIT_ANCESTRY, AT_NONE, AT_GIT_REFUSE},
	[AT_GIT_ANCESTRY] = {"git_ancestry", git_step_ancestry, ON_UP,
			     DEADLINE_UPSTREAM_MS, DEADLINE_PROGRESS,
			     AT_GIT_PROVE, AT_NONE, AT_GIT_REFUSE},
	[AT_GIT_SEND] = {"git_send", git_step_send,
			 ON_CLIENT | ON_UP | EV_BIT(EV_DRAINED) |
				 EV_BIT(EV_UP_DRAINED),
			 DEADLINE_UPSTREAM_MS, DEADLINE_PROGRESS, AT_HEAD,
			 AT_END, AT_GIT_REFUSE},
	[AT_GIT_REFUSE] = {"git_refuse", git_step_refuse, ON_CLIENT,
			   DEADLINE_BODY_MS, DEADLINE_PROGRESS, AT_HEAD, AT_END,
			   AT_NONE},
};
