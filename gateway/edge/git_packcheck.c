/*
 * The process that looks at a push: asked for, waited for, given back.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/upstream/dial.h"

static void on_packcheck_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct git_work *work = owner;

	(void)rpc;
	(void)why;
	work->packcheck = NULL;
}

/* One that is being started. */
struct packcheck_start {
	struct conn *conn; /* NULL: nobody waits any more */
};

static void take_packcheck(struct conn *conn, struct rpc_outcome *outcome)
{
	struct git_work *work = conn->git;
	const struct rpc_config config = {
		.owner = work,
		.on_closed = on_packcheck_gone,
	};
	struct err err;

	work->packcheck = rpc_new(conn->edge->keeper->loop,
				  take_fd(&outcome->fd), &config, &err);
	work->has_packcheck = work->packcheck != NULL;
}

static void on_packcheck_started(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct packcheck_start *start = owner;
	struct conn *conn = start->conn;

	if (!conn)
		return;
	conn->git->starting = NULL;
	if (!outcome->err && outcome->fd >= 0)
		take_packcheck(conn, outcome);
	/* Else whether one could be started now is no matter: it is tried
	 * again when it is needed. */
	if (!conn->git->awaits_packcheck)
		return;
	conn->git->awaits_packcheck = false;
	if (!conn->git->packcheck)
		conn_refuse(conn, constraint_of_outcome(outcome), "%s",
			    outcome->err ? outcome->err->text
					 : "no packcheck was started");
	lane_deliver(conn, EV_ANSWER);
}

int git_packcheck_start(struct conn *conn)
{
	const struct wire_empty empty = {0};
	auto_free struct packcheck_start *start = calloc(1, sizeof(*start));
	const struct rpc_call call = {
		.type = MSG_PACKCHECK_START,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = PACKCHECK_WAIT_MS + DEADLINE_ASK_MS,
		.on_outcome = on_packcheck_started,
		.owner = start,
	};
	struct err err;

	if (!start || !conn->edge->keeper->warden)
		return -1;
	start->conn = conn;
	if (rpc_ask(conn->edge->keeper->warden, &call, NULL, &err) < 0)
		return -1;
	conn->git->starting = take_ptr(&start);
	return 0;
}

void git_packcheck_soon(struct conn *conn)
{
	const struct wire_empty empty = {0};
	const struct policy_repo *repo = conn->git->repo;
	struct err err;

	if (conn->edge->keeper->warden &&
	    (push_checks_any(repo) || decide_proves_moves(repo)))
		(void)rpc_tell(conn->edge->keeper->warden, MSG_PACKCHECK_SOON,
			       &wire_empty_schema, &empty, -1, &err);
}

void git_start_ahead(struct conn *conn)
{
	const struct git_work *work = conn->git;
	const struct push *push = &work->commands.push;
	bool looks = push_checks_any(work->repo);

	/* Whoever is slow keeps none waiting. */
	if (!conn->body_done || !push->has_pack)
		return;
	for (size_t i = 0; i < push->update_count; i++)
		looks |= decide_proves_moves(work->repo) &&
			 !git_oid_is_zero(push->updates[i].old_oid) &&
			 !git_oid_is_zero(push->updates[i].new_oid);
	if (looks)
		(void)git_packcheck_start(conn);
}

void git_packcheck_release(struct git_work *work)
{
	if (work->starting)
		work->starting->conn = NULL;
	if (work->packcheck)
		rpc_close(work->packcheck);
	work->starting = NULL;
	work->packcheck = NULL;
}
