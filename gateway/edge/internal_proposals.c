#include <jansson.h>

#include "common/cleanup.h"
#include "gateway/edge/approval.h"
#include "gateway/edge/internal.h"
#include "gateway/upstream/dial.h"
#include "policies/inspect/json.h"
#include "policies/url.h"

/* What the body asks for; texts borrow from the JSON. */
struct wish {
	const char *method;
	const char *url;
	const char *why;
};

/* ---- answers of the ledger ---- */

/* Nothing of the outcome outlives this: the reply is written here, and the
 * step that follows only says how to go on. */
static void keep_step(struct conn *conn, enum step step)
{
	conn->internal->next = step;
}

static void refuse_outcome(struct conn *conn, const struct rpc_outcome *outcome)
{
	unsigned status = constraint_of_outcome(outcome) == CONSTRAINT_internal
				  ? 503
				  : 429;

	keep_step(conn, internal_problem(conn, status, outcome->err->text));
}

static void take_proposed(struct conn *conn, struct rpc_outcome *outcome)
{
	if (outcome->err)
		refuse_outcome(conn, outcome);
	else
		keep_step(conn, internal_proposal(conn, 201, outcome->message));
}

static void take_shown(struct conn *conn, struct rpc_outcome *outcome)
{
	const struct msg_proposal_found *found = outcome->message;
	struct internal *internal = conn->internal;

	if (outcome->err) {
		refuse_outcome(conn, outcome);
	} else if (found->proposals_count == 0) {
		keep_step(conn, internal_problem(conn, 404,
						 "there is no such proposal"));
	} else if (found->proposals[0].state == PROPOSAL_PENDING &&
		   internal->wait_ms && !internal->is_over &&
		   approval_wait(conn, bytes_str(internal->id),
				 internal->wait_ms)) {
		keep_step(conn, STEP_STAY);
	} else {
		keep_step(conn,
			  internal_proposal(conn, 200, &found->proposals[0]));
	}
}

enum step internal_answered(struct conn *conn)
{
	enum step next = conn->internal->next;

	conn->internal->is_over |= approval_is_over(conn);
	/* Somebody decided while the ledger was asked. */
	if (next == STEP_STAY && approval_was_woken(conn))
		return internal_show(conn);
	return next;
}

static enum step ask_ledger(struct conn *conn, struct rpc_call *call,
			    void (*take)(struct conn *conn,
					 struct rpc_outcome *outcome))
{
	struct keeper_peer *ledger =
		keeper_peer_of(conn->edge->keeper, ROLE_LEDGER);

	call->fd = -1;
	return conn_ask(conn, ledger ? ledger->rpc : NULL, call, take) < 0
		       ? STEP_DENY
		       : STEP_STAY;
}

enum step internal_show(struct conn *conn)
{
	const struct msg_proposal_ref message = {bytes_str(conn->internal->id)};
	struct rpc_call call = {
		.type = MSG_PROPOSAL_SHOW,
		.schema = &msg_proposal_ref_schema,
		.message = &message,
		.reply_schema = &msg_proposal_found_schema,
	};

	return ask_ledger(conn, &call, take_shown);
}

/* ---- proposing ---- */

/* One line for people. */
static struct bytes clean_why(struct conn *conn, const char *why)
{
	char *text = arena_str(&conn->arena, bytes_str(why));

	for (char *at = text; at && *at; at++)
		if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
			*at = '?';
	return bytes_str(text);
}

static enum step ask_for(struct conn *conn, const struct request_facts *facts,
			 const struct verdict *verdict, const char *why)
{
	const struct proposal question = {
		.rule = verdict->rule,
		.method = facts->method,
		.scheme = facts->is_tls ? SCHEME_HTTPS : SCHEME_HTTP,
		.host = facts->target.host,
		.port = facts->target.port,
		.path = facts->path,
		.credential = verdict->credential,
		.why = clean_why(conn, why),
		.expires_ms = conn->edge->expires_ms,
	};
	struct rpc_call call = {
		.type = MSG_PROPOSAL_ASK,
		.schema = &proposal_schema,
		.message = &question,
		.reply_schema = &proposal_schema,
	};

	return ask_ledger(conn, &call, take_proposed);
}

static enum step decide(struct conn *conn, const struct request_facts *facts,
			const char *why)
{
	const struct policy *policy = conn->law->policy;
	struct bytes repo_path;
	struct verdict verdict;

	if (git_endpoint_of(facts, &repo_path) != GIT_NONE &&
	    decide_repo(policy, &facts->target, repo_path))
		return internal_problem(conn, 409,
					"git's endpoints are not asked for: "
					"the policy's `git` decides");
	verdict = decide_request(policy, facts, NULL);
	switch (verdict.kind) {
	case VERDICT_ASK:
		return ask_for(conn, facts, &verdict, why);
	case VERDICT_ALLOW:
		return internal_problem(conn, 409,
					"the policy allows this: send it");
	case VERDICT_LOOK:
		return internal_problem(conn, 409,
					"the body decides: send the request");
	case VERDICT_DENY:
	case VERDICT_KIND_MAX:
	default:
		return internal_problem(
			conn, 403,
			arena_format(&conn->arena,
				     "the policy denies this and leaves it to "
				     "nobody: %s (rule %.*s)",
				     constraint_name(verdict.constraint),
				     BYTES_ARGS(verdict.rule)));
	}
}

/* What has one: its body may decide. */
static bool has_body(struct bytes method)
{
	return bytes_is(method, "POST") || bytes_is(method, "PUT") ||
	       bytes_is(method, "PATCH");
}

static enum step propose(struct conn *conn, const struct wish *wish)
{
	struct request_facts facts = {
		.method = arena_copy(&conn->arena, bytes_str(wish->method)),
	};
	const char *url = arena_str(&conn->arena, bytes_str(wish->url));
	enum constraint constraint;
	struct err err;

	if (strlen(wish->why) > PROPOSAL_WHY_MAX)
		return internal_problem(conn, 400, "why has at most 500 bytes");
	if (!head_method_is_known(facts.method) ||
	    bytes_is(facts.method, "CONNECT"))
		return internal_problem(conn, 400,
					"method is one as GET or POST");
	if (!url || strlen(url) > HEAD_LINE_MAX ||
	    url_facts(url, &conn->arena, &facts, &constraint, &err) < 0)
		return internal_problem(conn, 400,
					"url is a whole http(s) URL whose path "
					"can be read in one way alone");
	facts.has_body = has_body(facts.method);
	return decide(conn, &facts, wish->why);
}

enum step internal_propose(struct conn *conn)
{
	json_t *root = json_read(buf_view(&conn->internal->body));
	struct wish wish = {.why = ""};
	enum step step;

	if (!root || json_unpack_ex(root, NULL, JSON_STRICT, "{s:s, s:s, s?s}",
				    "method", &wish.method, "url", &wish.url,
				    "why", &wish.why) < 0)
		step = internal_problem(conn, 400,
					"the body is a JSON object of method, "
					"url and why");
	else
		step = propose(conn, &wish);
	json_decref(root);
	return step;
}
