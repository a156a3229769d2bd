/*
 * The edge's own questions to an LFS server, and its answers to the client.
 */
#include "common/cleanup.h"
#include "gateway/edge/lfs_lane.h"
#include "gateway/edge/own_ask.h"

/* ---- the question ---- */

static void add_fields(const struct conn *conn, struct fields *fields)
{
	const struct field *agent =
		fields_find(&conn->errand->request.fields, "User-Agent");

	/* What a permission wants stands in the request already. */
	if (conn->lfs->endpoint == LFS_TRANSFER)
		for (size_t i = 0; i < conn->errand->request.fields.count; i++)
			(void)fields_add(
				fields,
				conn->errand->request.fields.items[i].name,
				conn->errand->request.fields.items[i].value);
	else if (agent)
		(void)fields_add(fields, agent->name, agent->value);
	if (!fields_find(fields, "Accept"))
		(void)fields_add(fields, bytes_str("Accept"),
				 bytes_str(LFS_TYPE));
	if (conn->lfs->endpoint != LFS_LOCKS &&
	    !fields_find(fields, "Content-Type"))
		(void)fields_add(fields, bytes_str("Content-Type"),
				 bytes_str(LFS_TYPE));
}

static int send_question(struct conn *conn)
{
	struct lfs_work *work = conn->lfs;
	struct bytes body = buf_view(&work->body);
	size_t room = conn->errand->request.fields.count + 4;
	const struct upstream_labels labels = {
		.request_id = bytes_str(conn->request_id),
		.rule = conn->verdict.rule,
	};
	struct request request = conn->errand->request;
	struct err err;

	request.fields = (struct fields){
		arena_array(&work->arena, room, sizeof(struct field)), 0, room};
	if (!request.fields.items) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	add_fields(conn, &request.fields);
	request.framing = body.len ? FRAMING_LENGTH : FRAMING_NONE;
	request.body_len = body.len;
	request.keep_alive = true;
	request.expects_continue = false;
	if (upstream_send(conn->up, &request, &labels, &err) < 0 ||
	    (body.len && (upstream_body(conn->up, body) < 0 ||
			  upstream_body_end(conn->up) < 0))) {
		conn_refuse(conn, CONSTRAINT_upstream_closed,
			    "the LFS server takes no request");
		return -1;
	}
	return 0;
}

/* ---- the answer ---- */

static int check_head(struct conn *conn)
{
	const struct response *response = upstream_response(conn->up);
	const struct field *place = fields_find(&response->fields, "Location");

	if (response->status == 401) {
		conn_refuse(
			conn, CONSTRAINT_credential_unavailable,
			conn->verdict.credential.len
				? "%s refused the gateway's credential (401)"
				: "%s wants a credential (401), and the "
				  "policy has none for this repository",
			conn->errand->target.host);
		return -1;
	}
	if (response->status >= 300 && response->status < 400) {
		conn_refuse(conn, CONSTRAINT_response_malformed,
			    "%s says that this is now at %.*s: the policy "
			    "must name it there",
			    conn->errand->target.host,
			    BYTES_ARGS(place ? place->value
					     : bytes_str("another place")));
		return -1;
	}
	if (!fields_find(&response->fields, "Content-Encoding"))
		return 0;
	conn_refuse(conn, CONSTRAINT_response_malformed,
		    "%s encodes its answer, unasked",
		    conn->errand->target.host);
	return -1;
}

static int hold_reply(struct conn *conn)
{
	if (buf_add(&conn->lfs->reply, upstream_span(conn->up)) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_response_malformed,
		    "%s answers with more than %d bytes",
		    conn->errand->target.host, LFS_REPLY_BYTES_MAX);
	return -1;
}

/* What went wrong, in the server's words where it says some. */
static int explain_status(struct conn *conn, unsigned status, struct buf *out)
{
	struct lfs_work *work = conn->lfs;
	struct bytes words =
		lfs_message_of(buf_view(&work->reply), &work->arena);
	const char *text = arena_format(
		&work->arena, "%s answers %u%s%.*s", conn->errand->target.host,
		status, words.len ? ": " : "", BYTES_ARGS(words));

	return lfs_message_write(bytes_str(text), bytes_str(conn->request_id),
				 out);
}

static int malformed(struct conn *conn)
{
	conn_refuse(conn, CONSTRAINT_response_malformed,
		    "%s answers with no JSON object",
		    conn->errand->target.host);
	return -1;
}

static int make_answer(struct conn *conn, unsigned status, struct buf *out)
{
	struct lfs_work *work = conn->lfs;
	struct bytes reply = buf_view(&work->reply);

	if (work->endpoint == LFS_BATCH && status == 200)
		return lfs_answer_batch(conn, out);
	/* Verify is answered with its status alone. */
	if (work->endpoint == LFS_TRANSFER && status < 300)
		return buf_add_str(out, "{}");
	/* Who holds a lock stands in the answer that one is held. */
	if (status < 300 || (work->endpoint == LFS_LOCK && status == 409))
		return lfs_copy(reply, out) < 0 ? malformed(conn) : 0;
	return explain_status(conn, status, out);
}

static enum step send_answer(struct conn *conn, unsigned status,
			     struct bytes body)
{
	struct field items[] = {
		{bytes_str("Content-Type"), bytes_str(LFS_TYPE)},
		{bytes_str("Cache-Control"), bytes_str("no-store")},
	};
	const struct response response = {
		.status = status,
		.reason = bytes_str(status < 300 ? "OK" : "LFS error"),
		.fields = {items, ARRAY_SIZE(items), ARRAY_SIZE(items)},
		.framing = FRAMING_LENGTH,
		.body_len = body.len,
	};
	bool keep = conn->errand->request.keep_alive && !conn->close_after &&
		    conn->body_done && conn->requests < CONN_REQUESTS_MAX;
	auto_type(buf_release) struct buf head;

	buf_init(&head, HEAD_BYTES_MAX);
	conn->has_replied = true;
	conn->reply_status = status;
	conn->bytes_down = body.len;
	if (write_response(&head, &response, keep) < 0 ||
	    io_write(conn->client, buf_view(&head)) < 0 ||
	    io_write(conn->client, body) < 0)
		return STEP_END;
	return keep ? STEP_NEXT : STEP_OTHER;
}

static enum step answer(struct conn *conn)
{
	unsigned status = upstream_response(conn->up)->status;
	auto_type(buf_release) struct buf out;

	buf_init(&out, 2 * LFS_REPLY_BYTES_MAX);
	conn_put_upstream(conn);
	if (make_answer(conn, status, &out) < 0) {
		if (conn->refusal.constraint == CONSTRAINT_none)
			conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return STEP_DENY;
	}
	if (rate_down(conn, buf_len(&out)) < 0)
		return STEP_DENY;
	/* A 204 has no body. */
	return send_answer(conn, status == 204 ? 200 : status, buf_view(&out));
}

static int begin(struct conn *conn)
{
	return conn_get_upstream(conn, conn->verdict.credential);
}

/* What changes nothing may be asked again on another connection. */
static bool may_repeat(const struct conn *conn)
{
	enum lfs_endpoint endpoint = conn->lfs->endpoint;

	return endpoint != LFS_LOCK && endpoint != LFS_UNLOCK;
}

enum step lfs_step_ask(struct conn *conn, enum lane_event event)
{
	static const struct own_ask ask = {
		.begin = begin,
		.send = send_question,
		.head = check_head,
		.body = hold_reply,
		.end = answer,
		.may_repeat = may_repeat,
	};

	return own_ask_step(conn, event, &ask);
}
