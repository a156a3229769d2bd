/*
 * Another law for a session that runs. The session's own, and with it every
 * request that begins from now on, is the new one at once. What is under way
 * is asked about again, by what is known of it: denied, it ends; allowed, it
 * goes on by the law by which it began, until it ends. Tunnels and
 * WebSockets, which may last for long, go over to the new one.
 */
#include <utlist.h>

#include "common/log.h"
#include "gateway/edge/conn.h"
#include "gateway/edge/git_lane.h"
#include "gateway/edge/internal.h"
#include "gateway/edge/lfs_lane.h"
#include "gateway/edge/script.h"
#include "gateway/edge/websocket_lane.h"

static void take_law(struct conn *conn)
{
	struct law *before = conn->law;

	conn->law = law_use(conn->edge->law);
	law_drop(before);
}

/* ---- connections ---- */

/* The decision on the target of a connection that was decided on before. */
static struct verdict check_target(const struct conn *conn)
{
	struct verdict verdict;

	if (conn->errand->target.scheme == SCHEME_HTTP &&
	    internal_is_host(bytes_str(conn->errand->target.host),
			     conn->errand->target.port))
		return (struct verdict){
			.kind = VERDICT_ALLOW,
			.rule = bytes_str("sallyport"),
			.inspect = true,
		};
	verdict = target_check(conn->edge->law->policy, &conn->errand->target);
	/* Where requests are seen, they are asked about, one by one. */
	if (verdict.kind == VERDICT_ASK &&
	    conn->errand->target.scheme == SCHEME_HTTP) {
		verdict.kind = VERDICT_ALLOW;
		verdict.constraint = CONSTRAINT_none;
		verdict.inspect = true;
	}
	return verdict;
}

static bool is_target_denied(const struct conn *conn)
{
	return conn->has_target && check_target(conn).kind != VERDICT_ALLOW;
}

/* Between two requests, or before the first: nothing was decided but where it
 * goes. One that says no with its certificate cannot say yes. */
static void review_idle(struct conn *conn)
{
	struct verdict verdict = {0};

	if (conn->has_target) {
		verdict = check_target(conn);
		if (verdict.kind != VERDICT_ALLOW ||
		    conn->errand->target_verdict.kind != VERDICT_ALLOW) {
			conn_close(conn);
			return;
		}
	}
	conn->errand->target_verdict = verdict;
	take_law(conn);
}

void conn_renew_law(struct conn *conn)
{
	if (conn->law == conn->edge->law)
		return;
	if (conn->has_target)
		conn->errand->target_verdict = check_target(conn);
	take_law(conn);
}

/* The word that a person is to say is for that rule. */
static bool is_asked_still(const struct conn *conn,
			   const struct verdict *verdict)
{
	return conn->state == AT_TUNNEL_APPROVE &&
	       verdict->kind == VERDICT_ASK &&
	       bytes_equal(verdict->rule, conn->errand->target_verdict.rule);
}

/* Nothing can be said in a tunnel: the record has why it ends. */
static void cut_tunnel(struct conn *conn)
{
	conn_refuse(conn, CONSTRAINT_policy_changed, "%s",
		    constraint_text(CONSTRAINT_policy_changed));
	conn_close(conn);
}

static void review_tunnel(struct conn *conn)
{
	struct target target = conn_target(conn);
	struct verdict verdict = target_check(conn->edge->law->policy, &target);

	if (is_asked_still(conn, &verdict)) {
		conn->errand->target_verdict = verdict;
		take_law(conn);
		return;
	}
	if (conn->state == AT_TUNNEL_APPROVE || verdict.kind != VERDICT_ALLOW ||
	    verdict.inspect) {
		cut_tunnel(conn);
		return;
	}
	conn->verdict = verdict;
	if (conn->errand)
		conn->errand->target_verdict = verdict;
	take_law(conn);
	if (rate_move(conn) < 0)
		conn_close(conn);
}

/* ---- requests ---- */

static void end(struct conn *conn, enum constraint constraint)
{
	lane_refuse(conn,
		    constraint == CONSTRAINT_none ? CONSTRAINT_policy_changed
						  : constraint,
		    constraint_text(CONSTRAINT_policy_changed));
}

/* Which credential goes with it is known once it leaves. */
static bool has_other_credential(const struct conn *conn)
{
	const struct law *law = conn->edge->law;

	if (conn->state == AT_EXCHANGE || conn->websocket)
		return conn->verdict.credential.len > 0 &&
		       !law_same_binding(conn->law, law,
					 conn->verdict.credential);
	return !law_same_bindings(conn->law, law);
}

/* It was decided by what the old law saw, and has not left. */
static bool waits_to_leave(const struct conn *conn)
{
	return conn->state == AT_VERIFY || conn->state == AT_SCRIPT ||
	       conn->state == AT_APPROVE || conn->state == AT_PERMIT;
}

/* It would leave, or the rest of it, unseen by what must see its body now; or
 * all of it by a script that is another, or by a person whom nobody asked. */
static bool must_be_seen(const struct conn *conn, const struct verdict *verdict)
{
	struct bytes script = conn->edge->law->policy->script;
	bool flows = conn->state == AT_EXCHANGE && !conn->body_done;
	bool asks = verdict->kind == VERDICT_ASK &&
		    conn->verdict.kind == VERDICT_ALLOW && !conn->approval;

	if (flows)
		return verdict->kind == VERDICT_LOOK;
	return waits_to_leave(conn) &&
	       (verdict->kind == VERDICT_LOOK || asks ||
		(script.len &&
		 !bytes_equal(script, conn->law->policy->script)));
}

static void review_request(struct conn *conn)
{
	struct verdict verdict =
		request_check(conn->edge->law->policy, &conn->errand->target,
			      &conn->errand->request);

	if (verdict.kind == VERDICT_DENY)
		end(conn, verdict.constraint);
	else if (is_target_denied(conn) || has_other_credential(conn) ||
		 must_be_seen(conn, &verdict))
		end(conn, CONSTRAINT_none);
}

/* Its body is still coming, and nothing of it was decided: from here on it is
 * a request that begins now. Of a forge's the git lane would have to see the
 * beginning. */
static void review_look(struct conn *conn)
{
	const struct policy *policy = conn->edge->law->policy;
	const struct target_facts target =
		target_facts_of(&conn->errand->target);
	struct verdict verdict = request_check(policy, &conn->errand->target,
					       &conn->errand->request);

	if (verdict.kind == VERDICT_DENY || is_target_denied(conn) ||
	    decide_host_has_repo(policy, &target)) {
		end(conn, verdict.constraint);
		return;
	}
	conn->verdict = verdict;
	if (conn->has_target)
		conn->errand->target_verdict = check_target(conn);
	take_law(conn);
}

/* A person's word was for a rule that may be gone: it is asked for again. */
static void review_websocket(struct conn *conn)
{
	struct verdict verdict =
		request_check(conn->edge->law->policy, &conn->errand->target,
			      &conn->errand->request);

	if (verdict.kind != VERDICT_ALLOW || is_target_denied(conn) ||
	    has_other_credential(conn) ||
	    !bytes_equal(verdict.credential, conn->verdict.credential) ||
	    websocket_move(conn, &verdict) < 0) {
		end(conn, verdict.constraint);
		return;
	}
	conn->verdict = verdict;
	if (conn->has_target)
		conn->errand->target_verdict = check_target(conn);
	take_law(conn);
	if (rate_move(conn) < 0)
		conn_close(conn);
}

/* A push that is not on its way upstream was judged by rules that may be
 * others now: the client pushes again. */
static void review_git(struct conn *conn)
{
	const struct git_work *git = conn->git;

	if ((git->endpoint == GIT_RECEIVE_PACK && conn->state != AT_GIT_SEND) ||
	    !law_same_repo(conn->law, conn->edge->law, git->repo))
		end(conn, CONSTRAINT_none);
}

static void review_lfs(struct conn *conn)
{
	if (!law_same_repo(conn->law, conn->edge->law, conn->lfs->repo))
		end(conn, CONSTRAINT_none);
}

static void review_exchange(struct conn *conn)
{
	if (conn->git)
		review_git(conn);
	else if (conn->lfs)
		review_lfs(conn);
	else
		review_request(conn);
}

/* Which address was reached, when more were allowed, is not known here:
 * narrows ends whatever may have reached one that is denied now. */
static void review(struct conn *conn, bool narrows)
{
	switch ((unsigned)conn->state) {
	case AT_ARRIVE:
	case AT_CONNECT:
	case AT_PEEK:
	case AT_SILENT:
	case AT_FIRST:
	case AT_SOCKS:
		/* Where it goes is decided when that is known. */
		conn->errand->target_verdict = (struct verdict){0};
		take_law(conn);
		break;
	case AT_MINT:
	case AT_TURN:
	case AT_TLS:
	case AT_H2:
	case AT_HEAD:
	case AT_ROUTE:
		review_idle(conn);
		break;
	case AT_LOOK:
		review_look(conn);
		break;
	case AT_TUNNEL_APPROVE:
	case AT_TUNNEL_DIAL:
	case AT_TUNNEL_RELAY:
	case AT_TUNNEL_HALF:
		if (narrows && conn->state != AT_TUNNEL_APPROVE)
			cut_tunnel(conn);
		else
			review_tunnel(conn);
		break;
	case AT_WEBSOCKET_OPEN:
	case AT_WEBSOCKET:
		if (narrows)
			end(conn, CONSTRAINT_none);
		else
			review_websocket(conn);
		break;
	/* What only says its last words, or speaks to us. */
	case AT_INTERNAL:
	case AT_DENY:
	case AT_LINGER:
	case AT_GIT_REFUSE:
	case AT_WEBSOCKET_CLOSE:
		break;
	default:
		if (narrows)
			end(conn, CONSTRAINT_none);
		else
			review_exchange(conn);
		break;
	}
}

/* ---- the session ---- */

static bool may_reach(const struct target *target, void *owner)
{
	const struct edge *edge = owner;

	return target_check(edge->law->policy, target).kind != VERDICT_DENY;
}

static bool may_reach_nothing(const struct target *target, void *owner)
{
	(void)target;
	(void)owner;
	return false;
}

void edge_change_law(struct edge *edge, struct law *law)
{
	struct law *before = edge->law;
	bool narrows = law_narrows_addresses(before, law);
	struct conn *conn, *next;

	edge->law = law;
	edge_limit(edge);
	if (!bytes_equal(before->policy->script, law->policy->script))
		script_end(edge);
	permits_release(&edge->lfs_permits);
	DL_FOREACH_SAFE(edge->conns, conn, next)
	if (!conn->is_closed && conn->law != law)
		review(conn, narrows);
	/* Last: what ends gives back what it had. */
	upstream_pool_review(&edge->pool,
			     narrows ? may_reach_nothing : may_reach, edge);
	law_drop(before);
	/* Its credentials may be others. */
	own_secrets_renew(edge);
	log_info("another policy holds");
}
