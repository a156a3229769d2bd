/*
 * Where LFS requests enter and part; the lane's table.
 */
#include "gateway/edge/lfs_lane.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "gateway/edge/attach.h"
#include "policies/guardrail.h"
#include "policies/inspect/prints.h"
#include "policies/inspect/secrets.h"
#include "policies/repo_path.h"

/* ---- life ---- */

static struct lfs_work *work_new(enum lfs_endpoint endpoint,
				 const struct policy_repo *repo,
				 const struct lfs_path *at)
{
	struct lfs_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->endpoint = endpoint;
	work->repo = repo;
	work->at = *at;
	work->last = -1;
	arena_init(&work->arena, LFS_ARENA_MAX);
	buf_init(&work->body, LFS_REQUEST_BYTES_MAX);
	buf_init(&work->reply, LFS_REPLY_BYTES_MAX);
	return work;
}

void lfs_work_release(struct conn *conn)
{
	struct lfs_work *work = conn->lfs;

	if (!work)
		return;
	conn->lfs = NULL;
	if (work->is_away)
		conn->errand->target = work->front;
	conn->edge->lfs_asks -= work->is_ask;
	digest_close(work->digest, NULL);
	if (work->scan)
		secret_scan_close(work->scan);
	prints_free(work->prints);
	buf_release(&work->body);
	buf_release(&work->reply);
	arena_release(&work->arena);
	free(work);
}

/* ---- BEGIN ---- */

static struct verdict deny(const struct policy_repo *repo,
			   enum constraint constraint)
{
	return (struct verdict){
		.kind = VERDICT_DENY,
		.constraint = constraint,
		.rule = repo->url,
	};
}

/* Before the body is known. */
static struct verdict decide_endpoint(const struct conn *conn)
{
	const struct lfs_work *work = conn->lfs;
	const struct policy_repo *repo = work->repo;
	const struct request_facts facts =
		request_facts_of(&conn->errand->target, &conn->errand->request);
	struct verdict verdict =
		guard_git(conn->law->policy, &facts, repo, NULL);
	bool reads = decide_fetch(repo).kind == VERDICT_ALLOW;
	bool writes = decide_lfs_writes(repo);

	if (verdict.kind != VERDICT_ALLOW)
		return verdict;
	if (!facts.is_tls)
		return deny(repo, CONSTRAINT_scheme_not_allowed);
	if (work->endpoint == LFS_OTHER)
		return deny(repo, CONSTRAINT_lfs_not_allowed);
	if (!reads && !writes)
		return deny(repo, CONSTRAINT_fetch_not_allowed);
	if (!writes &&
	    (work->endpoint == LFS_LOCK || work->endpoint == LFS_UNLOCK))
		return deny(repo, CONSTRAINT_push_ref_not_allowed);
	if (work->endpoint == LFS_LOCKS &&
	    !lfs_locks_query_is_sound(conn->errand->request.query))
		return deny(repo, CONSTRAINT_lfs_malformed);
	verdict = decide_fetch(repo);
	verdict.kind = VERDICT_ALLOW;
	verdict.constraint = CONSTRAINT_none;
	verdict.rule = repo->url;
	verdict.credential = repo->credential;
	return verdict;
}

static bool is_ours(struct conn *conn)
{
	struct request_facts facts =
		request_facts_of(&conn->errand->target, &conn->errand->request);
	struct lfs_path at;
	enum lfs_endpoint endpoint;
	const struct policy_repo *repo;

	if (!decide_host_has_repo(conn->law->policy, &facts.target))
		return false;
	endpoint = lfs_endpoint_of(&facts, &at);
	if (endpoint == LFS_NONE ||
	    !request_is_for(&conn->errand->request, &conn->errand->target))
		return false;
	repo = decide_repo(conn->law->policy, &facts.target,
			   repo_path_canonical(at.base));
	if (!repo)
		return false;
	conn->verdict = deny(repo, CONSTRAINT_internal);
	conn->lfs = work_new(endpoint, repo, &at);
	return true;
}

/* The sandbox's own credentials; a placeholder in what is left means nothing:
 * of a head next to nothing goes on. */
static int drop_own(struct conn *conn)
{
	const struct policy_credential *credential = policy_credential_named(
		conn->law->policy, conn->verdict.credential);

	(void)edit_request(&conn->errand->request, true);
	if (credential && credential->attach == ATTACH_HEADER)
		edit_drop(&conn->errand->request, credential->field);
	return conn->law->placeholders ? swaps_find(conn, NULL) : 0;
}

enum step lfs_step_begin(struct conn *conn, enum lane_event event)
{
	(void)event;
	if (!is_ours(conn))
		return STEP_NEXT;
	if (!conn->lfs) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return STEP_DENY;
	}
	conn->verdict = decide_endpoint(conn);
	if (conn->verdict.kind == VERDICT_ALLOW)
		return drop_own(conn) < 0 ? STEP_DENY : STEP_OTHER;
	conn_refuse(conn, conn->verdict.constraint, "%s",
		    constraint_text(conn->verdict.constraint));
	if (conn->verdict.constraint == CONSTRAINT_lfs_not_allowed)
		conn->refusal.try_instead = bytes_str(
			"let git-lfs ask: objects/batch, locks, locks/verify "
			"and locks/ID/unlock are served");
	return STEP_DENY;
}

/* ---- refusals ---- */

static int add_allowed(struct buf *out, const struct refusal *refusal)
{
	int failed = 0;

	for (size_t i = 0; i < refusal->allowed_count; i++)
		failed |=
			buf_add_format(out, "%s%.*s", i ? ", " : "; allowed: ",
				       BYTES_ARGS(refusal->allowed[i]));
	return failed;
}

/* What does not fit is left out. */
static void add_text(struct buf *out, const struct refusal *refusal)
{
	(void)buf_add_format(out, "sallyport: %s: %.*s",
			     constraint_name(refusal->constraint),
			     BYTES_ARGS(refusal->detail));
	(void)add_allowed(out, refusal);
	if (refusal->try_instead.len)
		(void)buf_add_format(out, "; try: %.*s",
				     BYTES_ARGS(refusal->try_instead));
	if (refusal->rule.len)
		(void)buf_add_format(out, "; rule: %.*s",
				     BYTES_ARGS(refusal->rule));
}

int lfs_problem_write(struct buf *out, const struct problem *problem)
{
	enum constraint constraint = problem->refusal->constraint;
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf body;

	buf_init(&text, LFS_MESSAGE_MAX);
	buf_init(&body, 8 * LFS_MESSAGE_MAX);
	add_text(&text, problem->refusal);
	if (lfs_message_write(buf_view(&text), problem->request_id, &body) <
		    0 ||
	    buf_add_format(out,
			   "HTTP/1.1 %u egress denied: %s\r\n"
			   "Content-Type: " LFS_TYPE "\r\n"
			   "Content-Length: %zu\r\n"
			   "Cache-Control: no-store\r\n",
			   constraint_status(constraint),
			   constraint_name(constraint), buf_len(&body)) < 0)
		return -1;
	if (problem->retry_after_s &&
	    buf_add_format(out, "Retry-After: %u\r\n", problem->retry_after_s) <
		    0)
		return -1;
	if (buf_add_str(out, problem->close ? "Connection: close\r\n\r\n"
					    : "\r\n") < 0)
		return -1;
	return problem->is_head ? 0 : buf_add(out, buf_view(&body));
}

#define ON_CLIENT (EV_BIT(EV_DATA) | EV_BIT(EV_EOF))
#define ON_UP	  (EV_BIT(EV_UP_READY) | EV_UP_RESPONSE)

const struct lane_state lfs_states[] = {
	[AT_LFS] = {"lfs", lfs_step_begin, 0, DEADLINE_HEAD_MS, DEADLINE_FIXED,
		    AT_DECIDE, AT_LFS_OPEN, AT_DENY},
	[AT_LFS_OPEN] = {"lfs_open", lfs_step_open, ON_CLIENT, DEADLINE_LOOK_MS,
			 DEADLINE_FIXED, AT_EXCHANGE, AT_LFS_ASK, AT_DENY},
	[AT_LFS_ASK] = {"lfs_ask", lfs_step_ask, ON_UP | EV_BIT(EV_UP_DRAINED),
			DEADLINE_UPSTREAM_MS, DEADLINE_PROGRESS, AT_HEAD,
			AT_END, AT_DENY},
};
