/*
 * The HTTP lane: from accept to the next request. See the table at the end.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/approval.h"
#include "gateway/edge/attach.h"
#include "gateway/edge/git_lane.h"
#include "gateway/edge/h2_lane.h"
#include "gateway/edge/internal.h"
#include "gateway/edge/look.h"
#include "gateway/edge/opening.h"
#include "gateway/edge/script.h"
#include "gateway/edge/stray.h"
#include "gateway/edge/terminate.h"
#include "gateway/edge/verify.h"
#include "gateway/edge/websocket_lane.h"
#include "gateway/session/lease.h"
#include "gateway/upstream/dial.h"

/* ---- ARRIVE, CONNECT: where does it want to go? ---- */

/* NEXT: an explicit proxy client; OTHER: redirected to us. */
static enum step step_arrive(struct conn *conn, enum lane_event event)
{
	(void)event;
	if (conn->opening->arrival.kind == ARRIVAL_PROXY)
		return STEP_NEXT;
	conn->opening->wanted = (struct wanted){
		.host = conn->opening->arrival.host,
		.kind = conn->opening->arrival.host_kind,
		.port = conn->opening->arrival.port,
	};
	return STEP_OTHER;
}

static enum step step_connect(struct conn *conn, enum lane_event event)
{
	const struct request *request = &conn->errand->request;
	struct target *target = &conn->errand->target;

	(void)event;
	if (target_named(request->host, request->port, SCHEME_TCP, target) <
	    0) {
		conn_refuse(conn, CONSTRAINT_request_malformed,
			    "CONNECT names no host that can exist");
		return STEP_DENY;
	}
	/* target is filled in again from what stands in wanted: they share no
	 * memory. */
	memcpy(conn->opening->arrival.host, target->host,
	       sizeof(conn->opening->arrival.host));
	conn->opening->wanted = (struct wanted){
		.host = conn->opening->arrival.host,
		.kind = target->kind,
		.port = target->port,
		.from_connect = true,
	};
	if (io_write(conn->client,
		     bytes_str("HTTP/1.1 200 Connection established\r\n"
			       "\r\n")) < 0)
		return STEP_END;
	return STEP_NEXT;
}

/* ---- PEEK, TARGET, INSPECT: what does it speak, may it go there? ---- */

/* NEXT: known; OTHER: nothing was said, and the server may speak first. */
static enum step step_peek(struct conn *conn, enum lane_event event)
{
	struct buf *in = io_in(conn->client);

	if (event == EV_ENTER && buf_len(in) == 0 && tunnel_may_wait(conn))
		return STEP_OTHER;
	if (event == EV_EOF && buf_len(in) == 0)
		return STEP_END;
	if (hello_look(&conn->opening->hello, buf_view(in)) != HELLO_MORE)
		return STEP_NEXT;
	return event == EV_EOF ? STEP_END : STEP_STAY;
}

/* NEXT: it speaks after all. */
static enum step step_silent(struct conn *conn, enum lane_event event)
{
	if (event == EV_EOF)
		return STEP_END;
	return buf_len(io_in(conn->client)) > 0 ? STEP_NEXT : STEP_STAY;
}

static bool may_tunnel(const struct conn *conn)
{
	return conn->errand->target_verdict.kind == VERDICT_ALLOW &&
	       !conn->errand->target_verdict.inspect;
}

static struct verdict check_target(const struct conn *conn)
{
	if (conn->opening->hello.kind == HELLO_HTTP &&
	    internal_is_host(conn_host(conn), conn_port(conn)))
		return (struct verdict){
			.kind = VERDICT_ALLOW,
			.rule = bytes_str("sallyport"),
			.inspect = true,
		};
	return target_check(conn->law->policy, &conn->errand->target);
}

static void decide_the_target(struct conn *conn)
{
	/* What is wanted may stand in conn->errand->target itself. */
	struct target target;
	enum constraint mismatch, over = edge_over(conn->edge);

	conn->is_unheard = conn->opening->hello.kind == HELLO_MORE;
	if (conn->is_unheard)
		conn->opening->hello.kind = HELLO_OTHER;
	mismatch = target_from(&conn->opening->wanted, &conn->opening->hello,
			       &target);
	conn->errand->target = target;
	conn->errand->target_verdict = check_target(conn);
	if (over != CONSTRAINT_none || mismatch != CONSTRAINT_none)
		conn->errand->target_verdict = (struct verdict){
			.kind = VERDICT_DENY,
			.constraint = over != CONSTRAINT_none ? over : mismatch,
			.rule = bytes_str("gateway"),
		};
	/* Where requests are seen, they are asked about, one by one. */
	if (conn->errand->target_verdict.kind == VERDICT_ASK &&
	    conn->opening->hello.kind == HELLO_HTTP) {
		conn->errand->target_verdict.kind = VERDICT_ALLOW;
		conn->errand->target_verdict.constraint = CONSTRAINT_none;
		conn->errand->target_verdict.inspect = true;
	}
	/* A tunnel would be to whom the encrypted name names. */
	if (tunnel_hides_name(conn))
		conn->errand->target_verdict.inspect = true;
	/* What cannot be looked into does not pass where a look is needed. */
	if (conn->opening->hello.kind == HELLO_OTHER &&
	    conn->errand->target_verdict.kind == VERDICT_ALLOW &&
	    conn->errand->target_verdict.inspect)
		conn->errand->target_verdict = (struct verdict){
			.kind = VERDICT_DENY,
			.constraint = CONSTRAINT_protocol_not_allowed,
			.rule = conn->errand->target_verdict.rule,
		};
}

/* NEXT: terminated or read here; OTHER: a tunnel. */
static enum step step_target(struct conn *conn, enum lane_event event)
{
	(void)event;
	decide_the_target(conn);
	conn->is_inner = true;
	conn->has_target = true;
	if (conn->errand->target_verdict.kind == VERDICT_ASK)
		return STEP_OTHER;
	if (conn_record_target(conn) < 0)
		conn->errand->target_verdict = (struct verdict){
			.kind = VERDICT_DENY,
			.constraint = CONSTRAINT_audit_unavailable,
			.rule = bytes_str("gateway"),
		};
	if (may_tunnel(conn) && conn->opening->hello.kind != HELLO_HTTP)
		return STEP_OTHER;
	if (conn->opening->hello.kind == HELLO_TLS ||
	    conn->opening->hello.kind == HELLO_HTTP)
		return STEP_NEXT;
	return STEP_END;
}

/* NEXT: TLS to terminate; OTHER: HTTP in the clear. */
static enum step step_inspect(struct conn *conn, enum lane_event event)
{
	bool is_tls = conn->opening->hello.kind == HELLO_TLS;

	(void)event;
	conn->errand->target.scheme = is_tls ? SCHEME_HTTPS : SCHEME_HTTP;
	conn_reset_request(conn);
	return is_tls ? STEP_NEXT : STEP_OTHER;
}

/* ---- HEAD, DECIDE ---- */

static void new_request_id(struct conn *conn)
{
	uint64_t number = ++conn->edge->request_count;
	char *at = conn->request_id, text[16];
	size_t i = sizeof(text);

	/* snprintf() costs more than the rest of a step. */
	do {
		text[--i] = "0123456789abcdef"[number % 16];
		number /= 16;
	} while (number > 0);
	*at++ = 'r';
	*at++ = '-';
	memcpy(at, text + i, sizeof(text) - i);
	at[sizeof(text) - i] = '\0';
}

/* In a sandbox the socket says whose session it is, and a lease is a second
 * proof: none need be given, but one that is must be the session's own. Of a
 * client outside it is the only proof, wanted with every request. */
static bool is_lease_wrong(const struct conn *conn)
{
	const struct edge *edge = conn->edge;
	bool is_wanted = conn->is_outside && !conn->is_inner;
	const struct session *session;
	struct bytes field = conn->errand->proxy_authorization;
	uint8_t room[LEASE_FIELD_MAX];

	if (field.len == 0 && !is_wanted)
		return false;
	session = session_find(&edge->keeper->sessions,
			       bytes_str(edge->session_id));
	if (!session)
		return false;
	if (field.len == 0)
		return true;
	return !session_lease_is(session, lease_of_field(field, room));
}

static int begin_body(struct conn *conn)
{
	struct request *request = &conn->errand->request;

	/* An empty body is none: nothing is waited for. */
	if (request->framing == FRAMING_LENGTH && request->body_len == 0)
		request->framing = FRAMING_NONE;
	conn->body = arena_alloc(&conn->arena, sizeof(*conn->body));
	if (!conn->body)
		return -1;
	body_decoder_init(conn->body, request->framing, request->body_len);
	conn->body_done = request->framing == FRAMING_NONE;
	return 0;
}

/* NEXT: a request; OTHER: CONNECT to a proxy. */
static enum step parse_head(struct conn *conn, size_t head_len)
{
	struct buf *in = io_in(conn->client);
	struct http_fault fault;

	new_request_id(conn);
	if (head_request(&conn->arena, &conn->errand->guard,
			 bytes_slice(buf_view(in), 0, head_len),
			 &conn->errand->request,
			 &conn->errand->proxy_authorization, &fault) < 0) {
		conn_refuse(conn, fault.constraint, "%s", fault.reason);
		conn->close_after = true;
		return STEP_DENY;
	}
	buf_consume(in, head_len);
	conn->requests++;
	if (begin_body(conn) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		conn->close_after = true;
		return STEP_DENY;
	}
	if (is_lease_wrong(conn)) {
		conn_refuse(conn, CONSTRAINT_lease_invalid, "%s",
			    constraint_text(CONSTRAINT_lease_invalid));
		conn->close_after = true;
		return STEP_DENY;
	}
	if (conn->errand->request.is_websocket && websocket_begin(conn) < 0) {
		conn->close_after = true;
		return STEP_DENY;
	}
	if (conn->errand->request.form == FORM_AUTHORITY && !conn->is_inner)
		return STEP_OTHER;
	return STEP_NEXT;
}

static enum step refuse_head(struct conn *conn, const struct http_fault *fault)
{
	new_request_id(conn);
	conn_refuse(conn, fault->constraint, "%s", fault->reason);
	conn->close_after = true;
	return STEP_DENY;
}

static enum step step_head(struct conn *conn, enum lane_event event)
{
	struct buf *in = io_in(conn->client);
	size_t head_len;

	if (event == EV_ENTER) {
		conn_reset_request(conn);
		if (conn->is_inner)
			conn_forget_opening(conn);
	}
	if (conn->stream_fault.constraint != CONSTRAINT_none)
		return refuse_head(conn, &conn->stream_fault);
	/* Who does not read what it was answered is asked for no more. */
	if (io_is_full(conn->client)) {
		io_read_stop(conn->client);
		return STEP_STAY;
	}
	if (event == EV_DRAINED)
		io_read_start(conn->client);
	if (buf_len(in) == 0)
		return event == EV_EOF || conn->is_eof ? STEP_END : STEP_STAY;
	switch (guard_scan(&conn->errand->guard, buf_view(in), &head_len)) {
	case GUARD_COMPLETE:
		return parse_head(conn, head_len);
	case GUARD_INVALID:
		return refuse_head(conn, &conn->errand->guard.fault);
	case GUARD_MORE:
	default:
		return conn->is_eof ? STEP_END : STEP_STAY;
	}
}

/* A proxy client names the target in each request. */
static int find_target(struct conn *conn)
{
	const struct request *request = &conn->errand->request;

	if (conn->is_inner && request->form == FORM_ABSOLUTE &&
	    conn->errand->target.scheme == SCHEME_HTTPS) {
		conn_refuse(conn, CONSTRAINT_request_malformed,
			    "the URL is http://, the connection TLS");
		conn->close_after = true;
		return -1;
	}
	if (conn->is_inner)
		return 0;
	if (request->form != FORM_ABSOLUTE) {
		conn_refuse(conn, CONSTRAINT_request_malformed,
			    "this is a proxy: the request must name a URL");
		return -1;
	}
	if (target_named(request->host, request->port, SCHEME_HTTP,
			 &conn->errand->target) < 0) {
		conn_refuse(conn, CONSTRAINT_request_malformed,
			    "the URL names no host that can exist");
		return -1;
	}
	return 0;
}

static bool is_refused_already(struct conn *conn)
{
	enum constraint over = edge_over(conn->edge);

	if (over != CONSTRAINT_none) {
		conn_refuse(conn, over, "%s", constraint_text(over));
		return true;
	}
	if (!conn->has_target ||
	    conn->errand->target_verdict.kind == VERDICT_ALLOW)
		return false;
	conn->verdict = conn->errand->target_verdict;
	conn_refuse_target(conn);
	return true;
}

/* NEXT: it goes to somebody; OTHER: it is for us. */
static enum step step_route(struct conn *conn, enum lane_event event)
{
	const struct target *target = &conn->errand->target;
	enum step step = backlog_step(conn, event);

	if (step != STEP_NEXT)
		return step;
	if (find_target(conn) < 0 || is_refused_already(conn))
		return STEP_DENY;
	if (target->scheme == SCHEME_HTTP &&
	    internal_is_host(bytes_str(target->host), target->port))
		return STEP_OTHER;
	return STEP_NEXT;
}

/* NEXT: not denied so far; OTHER: it is git's. */
static enum step step_decide(struct conn *conn, enum lane_event event)
{
	(void)event;
	if (git_is_ours(conn))
		return STEP_OTHER;
	conn->verdict = request_check(conn->law->policy, &conn->errand->target,
				      &conn->errand->request);
	if (conn->verdict.kind != VERDICT_DENY)
		return STEP_NEXT;
	conn_refuse_request(conn);
	return STEP_DENY;
}

/* What is allowed by now is recorded, and leaves; nothing else does. NEXT: a
 * request; OTHER: a WebSocket. */
static enum step step_permit(struct conn *conn, enum lane_event event)
{
	enum step step = backlog_step(conn, event);

	if (step != STEP_NEXT)
		return step;
	if (conn->verdict.kind != VERDICT_ALLOW) {
		conn_refuse_request(conn);
		return STEP_DENY;
	}
	if (conn->websocket && websocket_permit(conn) < 0)
		return STEP_DENY;
	if (attach_prepare(conn, false) < 0 || stray_begin(conn) < 0 ||
	    rate_begin(conn, conn->errand->request.body_len) < 0 ||
	    conn_record_request(conn, &conn->verdict) < 0)
		return STEP_DENY;
	return conn->websocket ? STEP_OTHER : STEP_NEXT;
}

/* ---- DENY, LINGER ---- */

/* NEXT: linger and close; OTHER: the next request. */
static enum step step_deny(struct conn *conn, enum lane_event event)
{
	(void)event;
	conn_put_upstream(conn);
	if (conn->has_replied || conn_write_refusal(conn) < 0)
		return STEP_END;
	return conn->close_after ? STEP_NEXT : STEP_OTHER;
}

/* Read what still comes, so that our words arrive before a reset would. */
static enum step step_linger(struct conn *conn, enum lane_event event)
{
	struct buf *in = io_in(conn->client);

	if (event == EV_ENTER) {
		io_end(conn->client);
		conn->bytes_up = 0;
	}
	conn->bytes_up += buf_len(in);
	buf_clear(in);
	if (event == EV_EOF || conn->is_eof ||
	    conn->bytes_up > LINGER_BYTES_MAX)
		return STEP_NEXT;
	return STEP_STAY;
}

#define ON_CLIENT (EV_BIT(EV_DATA) | EV_BIT(EV_EOF))

const struct lane_state http_states[] = {
	[AT_ARRIVE] = {"arrive", step_arrive, 0, DEADLINE_HEAD_MS,
		       DEADLINE_FIXED, AT_FIRST, AT_PEEK, AT_NONE},
	[AT_CONNECT] = {"connect", step_connect, 0, DEADLINE_HEAD_MS,
			DEADLINE_FIXED, AT_PEEK, AT_NONE, AT_DENY},
	[AT_PEEK] = {"peek", step_peek, ON_CLIENT, DEADLINE_HEAD_MS,
		     DEADLINE_FIXED, AT_TARGET, AT_SILENT, AT_NONE},
	[AT_SILENT] = {"silent", step_silent, ON_CLIENT, SILENCE_MS,
		       DEADLINE_FIXED, AT_PEEK, AT_NONE, AT_NONE},
	[AT_TARGET] = {"target", step_target, 0, DEADLINE_HEAD_MS,
		       DEADLINE_FIXED, AT_INSPECT, AT_TUNNEL_APPROVE, AT_NONE},
	[AT_INSPECT] = {"inspect", step_inspect, 0, DEADLINE_HEAD_MS,
			DEADLINE_FIXED, AT_MINT, AT_HEAD, AT_NONE},
	[AT_MINT] = {"mint", terminate_mint_step, EV_BIT(EV_ANSWER),
		     DEADLINE_ASK_MS, DEADLINE_FIXED, AT_TURN, AT_NONE,
		     AT_TURN},
	[AT_TURN] = {"turn", turn_step, EV_BIT(EV_WAKE), DEADLINE_ASK_MS,
		     DEADLINE_FIXED, AT_TLS, AT_NONE, AT_NONE},
	[AT_TLS] = {"tls", terminate_tls_step,
		    ON_CLIENT | EV_BIT(EV_TLS_HELLO) | EV_BIT(EV_TLS_READY),
		    DEADLINE_HANDSHAKE_MS, DEADLINE_FIXED, AT_HEAD, AT_H2,
		    AT_NONE},
	[AT_H2] = {"h2", h2_step,
		   ON_CLIENT | EV_BIT(EV_DRAINED) | EV_BIT(EV_PEER_DATA),
		   DEADLINE_H2_MS, DEADLINE_PROGRESS, AT_END, AT_LINGER,
		   AT_NONE},
	[AT_HEAD] = {"head", step_head, ON_CLIENT | EV_BIT(EV_DRAINED),
		     DEADLINE_IDLE_MS, DEADLINE_FIXED, AT_ROUTE, AT_CONNECT,
		     AT_DENY},
	[AT_ROUTE] = {"route", step_route, EV_BIT(EV_WAKE), DEADLINE_HEAD_MS,
		      DEADLINE_FIXED, AT_LFS, AT_INTERNAL, AT_DENY},
	[AT_INTERNAL] = {"internal", internal_step,
			 ON_CLIENT | EV_BIT(EV_ANSWER) | EV_BIT(EV_WAKE),
			 DEADLINE_INTERNAL_MS, DEADLINE_FIXED, AT_HEAD,
			 AT_LINGER, AT_DENY},
	[AT_DECIDE] = {"decide", step_decide, 0, DEADLINE_HEAD_MS,
		       DEADLINE_FIXED, AT_LOOK, AT_GIT_BEGIN, AT_DENY},
	[AT_LOOK] = {"look", look_step, ON_CLIENT, DEADLINE_LOOK_MS,
		     DEADLINE_FIXED, AT_VERIFY, AT_NONE, AT_DENY},
	[AT_VERIFY] = {"verify", verify_step,
		       ON_CLIENT | EV_BIT(EV_UP_READY) | EV_BIT(EV_UP_DRAINED) |
			       EV_UP_RESPONSE,
		       DEADLINE_VERIFY_MS, DEADLINE_FIXED, AT_SCRIPT, AT_NONE,
		       AT_DENY},
	[AT_SCRIPT] = {"script", script_step,
		       ON_CLIENT | EV_BIT(EV_ANSWER) | EV_BIT(EV_WAKE),
		       DEADLINE_ASK_MS, DEADLINE_FIXED, AT_APPROVE, AT_NONE,
		       AT_DENY},
	[AT_APPROVE] = {"approve", approval_step,
			ON_CLIENT | EV_BIT(EV_ANSWER) | EV_BIT(EV_WAKE),
			DEADLINE_APPROVAL_MS, DEADLINE_FIXED, AT_PERMIT,
			AT_NONE, AT_DENY},
	[AT_PERMIT] = {"permit", step_permit, EV_BIT(EV_WAKE), DEADLINE_HEAD_MS,
		       DEADLINE_FIXED, AT_EXCHANGE, AT_WEBSOCKET_OPEN, AT_DENY},
	[AT_EXCHANGE] = {"exchange", exchange_step,
			 ON_CLIENT | EV_BIT(EV_DRAINED) | EV_BIT(EV_UP_READY) |
				 EV_BIT(EV_UP_DRAINED) | EV_UP_RESPONSE,
			 DEADLINE_UPSTREAM_MS, DEADLINE_PROGRESS, AT_HEAD,
			 AT_END, AT_DENY},
	[AT_DENY] = {"deny", step_deny, 0, DEADLINE_LINGER_MS, DEADLINE_FIXED,
		     AT_LINGER, AT_HEAD, AT_NONE},
	[AT_LINGER] = {"linger", step_linger, ON_CLIENT, DEADLINE_LINGER_MS,
		       DEADLINE_FIXED, AT_END, AT_NONE, AT_NONE},
};
