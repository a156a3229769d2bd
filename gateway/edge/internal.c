#include "gateway/edge/internal.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/approval.h"
#include "gateway/edge/look.h"
#include "gateway/edge/recent.h"
#include "gateway/git/signable.h"
#include "policies/explain.h"

#define PORT_HTTP 80

bool internal_is_host(struct bytes host, uint16_t port)
{
	return port == PORT_HTTP && bytes_is(host, INTERNAL_HOST);
}

/* ---- life ---- */

static struct internal *internal_new(void)
{
	struct internal *internal = calloc(1, sizeof(*internal));

	if (!internal)
		return NULL;
	buf_init(&internal->body, 0);
	return internal;
}

void internal_release(struct conn *conn)
{
	struct internal *internal = conn->internal;

	if (!internal)
		return;
	conn->internal = NULL;
	conn->edge->held_bytes -= internal->reserved;
	buf_release(&internal->body);
	free(internal);
}

/* ---- what there is ---- */

static enum step answer_policy(struct conn *conn)
{
	auto_type(buf_release) struct buf words;

	buf_init(&words, INTERNAL_ANSWER_MAX);
	if (policy_explain(conn->law->policy, &words) < 0)
		return internal_problem(conn, 503, "there is no memory for it");
	return internal_reply(conn, 200, "text/plain; charset=utf-8",
			      buf_view(&words));
}

static enum step answer_denials(struct conn *conn)
{
	auto_type(buf_release) struct buf lines;

	buf_init(&lines, INTERNAL_ANSWER_MAX);
	if (recent_write(conn->edge->recent, &lines) < 0)
		return internal_problem(conn, 503, "there is no memory for it");
	return internal_reply(conn, 200, "application/x-ndjson",
			      buf_view(&lines));
}

static int refuse_size(struct conn *conn)
{
	conn_refuse(conn, CONSTRAINT_body_too_large,
		    "the body has at most %zu bytes here",
		    conn->internal->body.max);
	return -1;
}

static int keep_body(struct conn *conn, struct bytes bytes)
{
	return buf_add(&conn->internal->body, bytes) < 0 ? refuse_size(conn)
							 : 0;
}

static bool never_full(struct conn *conn)
{
	(void)conn;
	return false;
}

static enum step read_body(struct conn *conn)
{
	if (conn_pump_body(conn, keep_body, never_full) < 0)
		return STEP_DENY;
	return conn->body_done ? conn->internal->take_body(conn) : STEP_STAY;
}

/* Of all connections together. */
static int reserve(struct conn *conn, uint64_t bytes)
{
	struct edge *edge = conn->edge;

	if (!look_has_room(conn, bytes)) {
		conn_refuse(conn, CONSTRAINT_limit_bodies, "%s",
			    constraint_text(CONSTRAINT_limit_bodies));
		return -1;
	}
	edge->held_bytes += bytes;
	conn->internal->reserved = bytes;
	return 0;
}

static enum step begin_body(struct conn *conn, size_t max,
			    enum step (*take_body)(struct conn *conn))
{
	const struct request *request = &conn->errand->request;
	bool knows_length = request->framing == FRAMING_LENGTH;

	conn->internal->take_body = take_body;
	buf_init(&conn->internal->body, max);
	if (knows_length && request->body_len > max) {
		(void)refuse_size(conn);
		return STEP_DENY;
	}
	if (reserve(conn, knows_length ? request->body_len : max) < 0)
		return STEP_DENY;
	conn_continue(conn);
	return read_body(conn);
}

/* "wait=30", or nothing. */
static bool read_wait(struct bytes query, unsigned *wait_ms)
{
	static const struct bytes name = BYTES_LITERAL("wait=");
	uint64_t seconds;

	*wait_ms = 0;
	if (query.len == 0)
		return true;
	if (!bytes_starts_with(query, name) ||
	    bytes_to_u64(bytes_slice(query, name.len, query.len), 2, &seconds) <
		    0 ||
	    seconds > INTERNAL_WAIT_MAX_S)
		return false;
	*wait_ms = (unsigned)seconds * 1000;
	return true;
}

static enum step begin_show(struct conn *conn, struct bytes id)
{
	struct internal *internal = conn->internal;

	if (!read_wait(conn->errand->request.query, &internal->wait_ms))
		return internal_problem(
			conn, 400, "the query is ?wait= and 0 to 60 seconds");
	if (id.len == 0 || id.len > PROPOSAL_ID_MAX)
		return internal_problem(conn, 404, "there is no such proposal");
	memcpy(internal->id, id.data, id.len);
	return internal_show(conn);
}

static bool is_reading(const struct conn *conn)
{
	return bytes_is(conn->errand->request.method, "GET") ||
	       bytes_is(conn->errand->request.method, "HEAD");
}

static enum step route(struct conn *conn)
{
	static const struct bytes proposals = BYTES_LITERAL("/proposals/");
	struct bytes path = conn->errand->request.path;
	bool is_proposal = bytes_starts_with(path, proposals);
	bool is_list = bytes_is(path, "/proposals");
	bool is_policy = bytes_is(path, "/policy");
	bool is_sign = bytes_is(path, "/sign");
	bool has_body = is_list || is_sign;

	if (!is_proposal && !has_body && !is_policy &&
	    !bytes_is(path, "/denials"))
		return internal_problem(conn, 404,
					"there are /policy, /denials, /sign, "
					"/proposals and /proposals/{id} here");
	if (has_body && !bytes_is(conn->errand->request.method, "POST"))
		return internal_not_allowed(conn, "POST");
	if (!has_body && !is_reading(conn))
		return internal_not_allowed(conn, "GET, HEAD");
	if (!is_proposal && conn->errand->request.has_query)
		return internal_problem(conn, 400, "there is no query here");
	if (is_proposal)
		return begin_show(conn,
				  bytes_slice(path, proposals.len, path.len));
	if (is_policy)
		return answer_policy(conn);
	if (is_sign)
		return begin_body(conn, SIGNABLE_BYTES_MAX, internal_sign);
	if (is_list)
		return begin_body(conn, INTERNAL_BODY_MAX, internal_propose);
	return answer_denials(conn);
}

static enum step begin(struct conn *conn)
{
	conn->verdict = (struct verdict){
		.kind = VERDICT_ALLOW,
		.rule = bytes_str("sallyport"),
	};
	if (!request_is_for(&conn->errand->request, &conn->errand->target)) {
		conn_refuse(conn, CONSTRAINT_host_mismatch, "%s",
			    constraint_text(CONSTRAINT_host_mismatch));
		return STEP_DENY;
	}
	internal_release(conn);
	conn->internal = internal_new();
	if (!conn->internal) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return STEP_DENY;
	}
	if (conn_record_request(conn, &conn->verdict) < 0)
		return STEP_DENY;
	return route(conn);
}

enum step internal_step(struct conn *conn, enum lane_event event)
{
	switch ((unsigned)event) {
	case EV_ENTER:
		return begin(conn);
	case EV_DATA:
		return conn->body_done ? STEP_STAY : read_body(conn);
	case EV_EOF:
		if (!conn->body_done)
			return read_body(conn);
		/* Who waits and is gone needs no answer. */
		return STEP_END;
	case EV_ANSWER:
		return internal_answered(conn);
	case EV_WAKE:
		conn->internal->is_over |= approval_is_over(conn);
		return internal_show(conn);
	default:
		return STEP_STAY;
	}
}
