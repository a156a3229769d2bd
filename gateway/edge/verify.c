#include "gateway/edge/verify.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/own_ask.h"
#include "gateway/edge/rate.h"
#include "policies/nodes.h"

struct verify {
	struct node_questions questions;
	struct buf reply;
};

void verify_release(struct conn *conn)
{
	if (!conn->verify)
		return;
	buf_release(&conn->verify->reply);
	free(conn->verify);
	conn->verify = NULL;
}

static int refuse(struct conn *conn, struct bytes reason)
{
	conn->verdict.kind = VERDICT_DENY;
	conn->verdict.constraint = CONSTRAINT_graphql_not_allowed;
	conn->verdict.reason = arena_copy(&conn->arena, reason);
	conn_refuse_request(conn);
	return -1;
}

int verify_begin(struct conn *conn, struct inspection *body)
{
	struct verify *verify = calloc(1, sizeof(*verify));

	verify_release(conn);
	if (!verify) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	conn->verify = verify;
	buf_init(&verify->reply, NODES_REPLY_MAX);
	if (nodes_collect(conn->verdict.by, body, &conn->arena,
			  &verify->questions) < 0)
		return refuse(conn,
			      bytes_str("it names too many nodes at once"));
	if (verify->questions.count == 0)
		verify_release(conn);
	return 0;
}

static int send_question(struct conn *conn)
{
	struct field items[] = {
		{bytes_str("User-Agent"), bytes_str("sallyport/" SP_VERSION)},
		{bytes_str("Content-Type"), bytes_str("application/json")},
		{bytes_str("Accept"), bytes_str("application/json")},
	};
	const struct upstream_labels labels = {
		.request_id = bytes_str(conn->request_id),
		.rule = conn->verdict.rule,
	};
	struct request request = {
		.method = bytes_str("POST"),
		.path = conn->errand->request.path,
		.fields = {.items = items,
			   .count = ARRAY_SIZE(items),
			   .room = ARRAY_SIZE(items)},
		.framing = FRAMING_LENGTH,
		.keep_alive = true,
	};
	auto_type(buf_release) struct buf body;
	struct err err;

	buf_init(&body, NODES_QUERY_MAX);
	if (nodes_write(&conn->verify->questions, &body) == 0) {
		request.body_len = buf_len(&body);
		if (upstream_send(conn->up, &request, &labels, &err) == 0 &&
		    upstream_body(conn->up, buf_view(&body)) == 0 &&
		    upstream_body_end(conn->up) == 0)
			return 0;
	}
	conn_refuse(conn, CONSTRAINT_upstream_closed,
		    "%s did not take the question about the nodes",
		    conn->errand->target.host);
	return -1;
}

static int check_head(struct conn *conn)
{
	const struct response *response = upstream_response(conn->up);

	if (response->status == 200 &&
	    !fields_find(&response->fields, "Content-Encoding"))
		return 0;
	conn_refuse(conn,
		    response->status == 401 ? CONSTRAINT_credential_unavailable
					    : CONSTRAINT_response_malformed,
		    "%s answered %u when it was asked about the nodes",
		    conn->errand->target.host, response->status);
	return -1;
}

static int take_reply(struct conn *conn)
{
	if (buf_add(&conn->verify->reply, upstream_span(conn->up)) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_response_malformed,
		    "%s says more about the nodes than fits",
		    conn->errand->target.host);
	return -1;
}

static enum step judge(struct conn *conn)
{
	struct verify *verify = conn->verify;
	auto_type(buf_release) struct buf why;
	bool all;

	buf_init(&why, NODES_WHY_MAX);
	all = nodes_hold(&verify->questions, buf_view(&verify->reply), &why);
	conn_put_upstream(conn);
	if (!all) {
		(void)refuse(conn, buf_view(&why));
		return STEP_DENY;
	}
	verify_release(conn);
	return STEP_NEXT;
}

/* A question is a request: without this, mutations that are refused for its
 * answer would cost upstream requests that no limit knows. */
static int begin(struct conn *conn)
{
	if (rate_begin(conn, 0) < 0)
		return -1;
	rate_end(conn);
	return conn_get_upstream(conn, conn->verdict.credential);
}

/* Nothing comes of it. */
static bool may_repeat(const struct conn *conn)
{
	(void)conn;
	return true;
}

enum step verify_step(struct conn *conn, enum lane_event event)
{
	static const struct own_ask ask = {
		.begin = begin,
		.send = send_question,
		.head = check_head,
		.body = take_reply,
		.end = judge,
		.may_repeat = may_repeat,
	};

	return conn->verify ? own_ask_step(conn, event, &ask) : STEP_NEXT;
}
