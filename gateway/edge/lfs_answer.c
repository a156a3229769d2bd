/*
 * What an LFS server's answer to a batch opens, and what the client is told
 * of it.
 */
#include <stdio.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/edge/lfs_lane.h"
#include "policies/path.h"
#include "policies/repo_path.h"

/* ---- where it leads ---- */

static struct bytes without_query(struct bytes path)
{
	struct bytes rest = path;
	struct bytes head;

	(void)bytes_split(&rest, '?', &head);
	return head;
}

/* Does the forge keep it itself, where the repository's own is? Then the
 * session's credential is for that too. */
static bool is_at_home(const struct conn *conn, const struct lfs_action *action)
{
	const struct policy_repo *repo = conn->lfs->repo;
	const struct target_facts facts = target_facts_of(&action->target);
	auto_type(arena_release) struct arena arena;
	struct bytes path = without_query(action->path);
	struct bytes normal;
	struct lfs_path at;

	arena_init(&arena, 4 * PATH_MAX_LEN);
	return repo->credential.len && facts.port == repo->port &&
	       bytes_equal(facts.host, repo->host) &&
	       path_normalise(&arena, path, &normal, NULL) == 0 &&
	       bytes_equal(path, normal) && lfs_path_split(path, &at) &&
	       (at.is_exact || at.is_gitlab) &&
	       decide_repo(conn->law->policy, &facts,
			   repo_path_canonical(at.base)) == repo;
}

/* The guardrail's rules hold for where it leads, too. */
static bool is_guarded(const struct conn *conn, const struct lfs_action *action)
{
	const struct policy *guardrail = conn->law->policy->guardrail;
	const struct request_facts facts = {
		.target = target_facts_of(&action->target),
		.is_tls = true,
		.method = bytes_str(lfs_method_of(action->kind)),
		.path = without_query(action->path),
		.has_body = action->kind != LFS_ACT_DOWNLOAD,
	};

	return guardrail &&
	       decide_request(guardrail, &facts, NULL).kind != VERDICT_ALLOW;
}

static int refuse(struct conn *conn, struct lfs_answer *answer,
		  const struct lfs_action *action, const char *why)
{
	const char *text = arena_format(
		&conn->lfs->arena,
		"sallyport: host_not_allowed: the LFS server keeps this "
		"object at %s:%u, %s",
		action->target.host, action->target.port, why);

	answer->action_count = 0;
	answer->error = 403;
	answer->why = bytes_str(text);
	return text ? 0 : -1;
}

static struct bytes href_of(struct conn *conn, const struct lfs_permit *permit)
{
	const struct target *target = &conn->errand->target;
	bool is_v6 = target->kind == HOST_IPV6;
	char port[8] = "";

	if (target->port != 443)
		(void)snprintf(port, sizeof(port), ":%u", target->port);
	return bytes_str(arena_format(
		&conn->lfs->arena, "https://%s%s%s%s%.*s/info/lfs/transfers/%s",
		is_v6 ? "[" : "", target->host, is_v6 ? "]" : "", port,
		BYTES_ARGS(conn->lfs->at.base), permit->id));
}

/* ---- one after the other ---- */

static int learn_action(struct conn *conn, struct lfs_answer *answer,
			struct lfs_action *action)
{
	const struct policy_repo *repo = conn->lfs->repo;
	const struct target_facts facts = target_facts_of(&action->target);
	struct edge *edge = conn->edge;
	bool is_home = is_at_home(conn, action);
	const struct lfs_permit *permit;

	if (!decide_lfs_storage(repo, &facts))
		return refuse(conn, answer, action,
			      "which git[].lfs.hosts of the policy does not "
			      "name");
	/* At home its word on git holds, where it has one. */
	if (!(is_home && repo->guard) && is_guarded(conn, action))
		return refuse(conn, answer, action,
			      "which the guardrail does not let pass");
	permit = permits_add(&edge->lfs_permits, action, answer->object, repo,
			     is_home, io_loop_now_ms(edge->keeper->loop));
	if (!permit)
		return -1;
	action->href = href_of(conn, permit);
	return action->href.len ? 0 : -1;
}

static int learn(struct conn *conn, struct lfs_reply *reply)
{
	for (size_t i = 0; i < reply->count; i++) {
		struct lfs_answer *answer = &reply->answers[i];

		for (size_t j = 0; j < answer->action_count; j++)
			if (learn_action(conn, answer, &answer->actions[j]) < 0)
				return -1;
	}
	return 0;
}

int lfs_answer_batch(struct conn *conn, struct buf *out)
{
	struct lfs_work *work = conn->lfs;
	struct lfs_reply reply;
	struct err err;

	if (lfs_reply_parse(buf_view(&work->reply), &work->batch,
			    clock_wall_ms(), &work->arena, &reply, &err) < 0) {
		conn_refuse(conn, CONSTRAINT_response_malformed,
			    "%s answers the batch with %s",
			    conn->errand->target.host, err.text);
		return -1;
	}
	if (learn(conn, &reply) < 0)
		return -1;
	return lfs_reply_write(&reply, out);
}
