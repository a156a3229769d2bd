#include "gateway/edge/websocket_lane.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/look.h"
#include "gateway/edge/stray.h"
#include "gateway/websocket/frames.h"
#include "gateway/websocket/handshake.h"
#include "policies/pattern.h"

/* A message on its way: end->message of whoever sent it. */
struct way {
	bool is_pending;
	size_t sent;
};

struct websocket_work {
	struct websocket_handshake handshake;
	/* The policy's, and the guardrail's if there is one: both hold. */
	const struct policy_rule *rules[2];
	size_t rule_count;
	struct websocket_end client, upstream;
	struct way up, down;
	struct buf arrived; /* of upstream, not read yet */
	uint64_t reserved;  /* of what is held, in edge->held_bytes */
	uint64_t began_ms;
	uint64_t window_ms; /* of control frames: since when */
	unsigned controls;
	/* What the close frames say. */
	bool is_over; /* upstream has ended */
	uint16_t code;
	char reason[WEBSOCKET_CONTROL_MAX];
	size_t reason_len;
};

/* ---- the handshake ---- */

int websocket_begin(struct conn *conn)
{
	struct websocket_work *work = calloc(1, sizeof(*work));
	struct http_fault fault;

	if (!work) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	conn->websocket = work;
	work->code = WEBSOCKET_AWAY;
	/* What follows on a stream is no request of HTTP/1.1. */
	conn->close_after |= conn->is_stream;
	if (websocket_offer(&work->handshake, &conn->arena,
			    &conn->errand->request, &fault) == 0)
		return 0;
	conn_refuse(conn, fault.constraint, "%s", fault.reason);
	return -1;
}

static bool add_rule(struct websocket_work *work,
		     const struct policy_rule *rule)
{
	if (!rule || !rule->websocket)
		return false;
	work->rules[work->rule_count++] = rule;
	return true;
}

/* The rule that lets no secret out, or NULL. */
static const struct policy_rule *secret_rule(const struct websocket_work *work)
{
	for (size_t i = 0; i < work->rule_count; i++)
		if (work->rules[i]->websocket->deny_secrets)
			return work->rules[i];
	return NULL;
}

int websocket_permit(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;

	/* It waited, and would live on by rules that are gone. */
	if (conn->law != conn->edge->law) {
		conn_refuse(conn, CONSTRAINT_policy_changed, "%s",
			    constraint_text(CONSTRAINT_policy_changed));
		return -1;
	}
	if (!add_rule(work, conn->verdict.by) ||
	    (conn->verdict.guard && !add_rule(work, conn->verdict.guard))) {
		conn_refuse(conn, CONSTRAINT_websocket_not_allowed, "%s",
			    constraint_text(CONSTRAINT_websocket_not_allowed));
		return -1;
	}
	if (secret_rule(work) &&
	    websocket_search(conn, conn->errand->request.query,
			     bytes_from(NULL, 0)) < 0)
		return -1;
	return 0;
}

int websocket_move(struct conn *conn, const struct verdict *verdict)
{
	struct websocket_work *work = conn->websocket;

	work->rule_count = 0;
	return add_rule(work, verdict->by) && (!verdict->guard ||
					       add_rule(work, verdict->guard))
		       ? 0
		       : -1;
}

void websocket_release(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;

	if (!work)
		return;
	conn->websocket = NULL;
	conn->edge->held_bytes -= work->reserved;
	websocket_end_release(&work->client);
	websocket_end_release(&work->upstream);
	buf_release(&work->arrived);
	free(work);
}

static enum step agree(struct conn *conn)
{
	struct response *response = upstream_response(conn->up);
	auto_type(buf_release) struct buf out = {0};
	struct http_fault fault;
	struct response reply;

	if (websocket_agree(&conn->websocket->handshake, response, &fault) <
	    0) {
		conn_refuse(conn, fault.constraint, "%s", fault.reason);
		return STEP_DENY;
	}
	edit_response(response, conn->verdict.credential.len > 0);
	reply = *response;
	reply.framing = FRAMING_NONE;
	buf_init(&out, 2 * HEAD_BYTES_MAX);
	if (write_response(&out, &reply, true) < 0 ||
	    io_write(conn->client, buf_view(&out)) < 0)
		return STEP_END;
	conn->has_replied = true;
	conn->reply_status = reply.status;
	return STEP_NEXT;
}

/* To a client of HTTP/2 every 2xx would be a WebSocket (RFC 8441). */
static enum step answered(struct conn *conn)
{
	unsigned status = upstream_response(conn->up)->status;

	if (!conn->is_stream || status < 200 || status > 299)
		return exchange_step(conn, EV_UP_HEAD);
	conn_refuse(conn, CONSTRAINT_response_malformed,
		    "the upstream answers, but opens no WebSocket");
	return STEP_DENY;
}

/* NEXT: both sides have agreed; OTHER: upstream answered as to any request,
 * and the answer was passed on. */
static enum step step_open(struct conn *conn, enum lane_event event)
{
	if (event == EV_ENTER) {
		conn->close_after = true;
		if (websocket_ask(&conn->websocket->handshake,
				  &conn->errand->request) < 0) {
			conn_refuse(conn, CONSTRAINT_request_too_large,
				    "the request has too many fields");
			return STEP_DENY;
		}
	}
	if (event == EV_UP_HEAD)
		return upstream_response(conn->up)->is_websocket
			       ? agree(conn)
			       : answered(conn);
	return exchange_step(conn, event);
}

/* ---- the end ---- */

/* NEXT, with what the close frames say. */
static enum step end_with(struct conn *conn, uint16_t code)
{
	conn->websocket->code = code;
	return STEP_NEXT;
}

/* conn->refusal says why, to the client as well. */
static enum step end_refused(struct conn *conn, uint16_t code)
{
	struct websocket_work *work = conn->websocket;

	conn_record_end(conn);
	work->reason_len = (size_t)snprintf(
		work->reason, sizeof(work->reason), "egress denied: %s",
		constraint_name(conn->refusal.constraint));
	return end_with(conn, code);
}

static enum step violate(struct conn *conn, enum constraint constraint,
			 uint16_t code, const char *reason)
{
	conn_refuse(conn, constraint, "%s", reason);
	return end_refused(conn, code);
}

/* What the session may not hold, or use up. */
static enum step overrun(struct conn *conn)
{
	return end_refused(conn, WEBSOCKET_LATER);
}

/* ---- messages ---- */

static int send_up(struct conn *conn, struct bytes bytes)
{
	conn->bytes_up += bytes.len;
	return upstream_body(conn->up, bytes);
}

static int send_down(struct conn *conn, struct bytes bytes)
{
	conn->bytes_down += bytes.len;
	return io_write(conn->client, bytes);
}

/* One frame to upstream, or to the client. */
static int write_frame(struct conn *conn, bool is_up,
		       enum websocket_opcode opcode, bool is_last,
		       struct bytes payload)
{
	struct websocket_work *work = conn->websocket;
	auto_type(buf_release) struct buf out;

	buf_init(&out, WEBSOCKET_PIECE_MAX + 64);
	if (websocket_write(is_up ? &work->upstream : &work->client, opcode,
			    is_last, payload, &out) < 0)
		return -1;
	return is_up ? send_up(conn, buf_view(&out))
		     : send_down(conn, buf_view(&out));
}

static bool is_full(const struct conn *conn, bool is_up)
{
	return is_up ? upstream_is_full(conn->up) : io_is_full(conn->client);
}

/* Send on what is pending, as far as the other side takes it. */
static int flush(struct conn *conn, bool is_up)
{
	struct websocket_work *work = conn->websocket;
	struct websocket_end *from = is_up ? &work->client : &work->upstream;
	struct way *way = is_up ? &work->up : &work->down;
	struct bytes message = buf_view(&from->message);

	while (way->is_pending && !is_full(conn, is_up)) {
		struct bytes piece = bytes_slice(
			message, way->sent, way->sent + WEBSOCKET_PIECE_MAX);
		bool is_last = way->sent + piece.len == message.len;

		if (write_frame(conn, is_up,
				way->sent ? WEBSOCKET_CONTINUATION
					  : from->opcode,
				is_last, piece) < 0)
			return -1;
		way->sent += piece.len;
		way->is_pending = !is_last;
	}
	return 0;
}

static bool is_allowed_by(const struct policy_websocket *rule,
			  const struct websocket_end *from)
{
	if (from->opcode == WEBSOCKET_BINARY)
		return rule->allow_binary;
	return !rule->text ||
	       pattern_ask(rule->text, buf_view(&from->message)) ==
		       PATTERN_MATCHES;
}

/* The rule that does not allow it, or NULL. */
static const struct policy_rule *broken_rule(const struct websocket_work *work,
					     const struct websocket_end *from)
{
	for (size_t i = 0; i < work->rule_count; i++)
		if (!is_allowed_by(work->rules[i]->websocket, from))
			return work->rules[i];
	return NULL;
}

/* What the client said, whole. */
static enum step check_message(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;
	const struct websocket_end *from = &work->client;
	const struct policy_rule *rule = broken_rule(work, from);

	if (rule) {
		conn->verdict.rule = rule->name;
		return violate(conn, CONSTRAINT_websocket_message,
			       WEBSOCKET_POLICY,
			       from->opcode == WEBSOCKET_BINARY
				       ? "no rule allows binary messages here"
				       : "no rule allows this message here");
	}
	rule = secret_rule(work);
	if (rule && websocket_search(conn, bytes_from(NULL, 0),
				     buf_view(&from->message)) < 0) {
		conn->verdict.rule = rule->name;
		return end_refused(conn, WEBSOCKET_POLICY);
	}
	if (stray_check(conn, buf_view(&from->message), bytes_from(NULL, 0),
			"message") < 0)
		return end_refused(conn, WEBSOCKET_POLICY);
	return STEP_STAY;
}

static enum step take_message(struct conn *conn, bool is_up)
{
	struct websocket_work *work = conn->websocket;
	struct websocket_end *from = is_up ? &work->client : &work->upstream;

	if ((is_up ? rate_up : rate_down)(conn, buf_len(&from->message)) < 0)
		return overrun(conn);
	if (is_up && check_message(conn) != STEP_STAY)
		return STEP_NEXT;
	*(is_up ? &work->up : &work->down) = (struct way){.is_pending = true};
	return STEP_STAY;
}

/* ---- control frames: each side's are answered here; what they carry is not
 * passed on, since no rule sees it ---- */

static bool are_too_many(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;
	uint64_t now = io_loop_now_ms(conn->edge->keeper->loop);

	if (now - work->window_ms >= WEBSOCKET_CONTROLS_WINDOW_MS) {
		work->window_ms = now;
		work->controls = 0;
	}
	return ++work->controls > WEBSOCKET_CONTROLS_MAX;
}

static enum step take_ping(struct conn *conn, bool is_up,
			   const struct websocket_end *from)
{
	if (write_frame(conn, !is_up, WEBSOCKET_OP_PONG, true, from->control) <
		    0 ||
	    write_frame(conn, is_up, WEBSOCKET_OP_PING, true,
			bytes_from(NULL, 0)) < 0)
		return STEP_END;
	return STEP_STAY;
}

/* The reason is told to the client, and to nobody outside. */
static enum step take_close(struct conn *conn, bool is_up,
			    const struct websocket_end *from)
{
	struct websocket_work *work = conn->websocket;

	if (!is_up && from->control.len <= sizeof(work->reason)) {
		if (from->control.len)
			memcpy(work->reason, from->control.data,
			       from->control.len);
		work->reason_len = from->control.len;
	}
	return end_with(conn, from->code);
}

static enum step take_invalid(struct conn *conn, bool is_up,
			      const struct websocket_end *from)
{
	return violate(conn,
		       is_up ? CONSTRAINT_websocket_message
			     : CONSTRAINT_response_malformed,
		       from->code, from->reason);
}

static enum step take_result(struct conn *conn, bool is_up,
			     enum websocket_result result)
{
	struct websocket_work *work = conn->websocket;
	const struct websocket_end *from =
		is_up ? &work->client : &work->upstream;

	if (result == WEBSOCKET_MESSAGE)
		return take_message(conn, is_up);
	if (result == WEBSOCKET_CLOSE)
		return take_close(conn, is_up, from);
	if (result == WEBSOCKET_INVALID)
		return take_invalid(conn, is_up, from);
	if (are_too_many(conn))
		return violate(conn, CONSTRAINT_websocket_message,
			       WEBSOCKET_POLICY, "there are too many pings");
	return result == WEBSOCKET_PING ? take_ping(conn, is_up, from)
					: STEP_STAY;
}

/* ---- the relay ---- */

/* What is held counts as bodies that are looked at do. */
static int reserve(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;
	uint64_t held = work->client.message.size +
			work->upstream.message.size + work->arrived.size;

	if (held > work->reserved &&
	    !look_has_room(conn, held - work->reserved)) {
		conn_refuse(conn, CONSTRAINT_limit_bodies, "%s",
			    constraint_text(CONSTRAINT_limit_bodies));
		return -1;
	}
	conn->edge->held_bytes += held;
	conn->edge->held_bytes -= work->reserved;
	work->reserved = held;
	return 0;
}

/* Bring what in has through to the other side. *is_held: it takes no more
 * for now. */
static enum step relay(struct conn *conn, bool is_up, struct buf *in,
		       bool *is_held)
{
	struct websocket_work *work = conn->websocket;
	struct websocket_end *from = is_up ? &work->client : &work->upstream;
	struct way *way = is_up ? &work->up : &work->down;
	enum step step = STEP_STAY;

	*is_held = false;
	while (step == STEP_STAY) {
		struct bytes input = buf_view(in);
		size_t before = input.len;
		enum websocket_result result;

		if (flush(conn, is_up) < 0)
			return STEP_END;
		*is_held = way->is_pending || is_full(conn, is_up);
		if (*is_held)
			break;
		result = websocket_take(from, &input);
		buf_consume(in, before - input.len);
		if (result == WEBSOCKET_MORE)
			break;
		step = take_result(conn, is_up, result);
	}
	if (step == STEP_STAY && reserve(conn) < 0)
		return overrun(conn);
	return step;
}

static enum step relay_up(struct conn *conn)
{
	bool is_held;
	enum step step = relay(conn, true, io_in(conn->client), &is_held);

	if (step != STEP_STAY)
		return step;
	if (is_held)
		io_read_stop(conn->client);
	else if (conn->is_eof)
		return end_with(conn, WEBSOCKET_AWAY);
	else
		io_read_start(conn->client);
	return STEP_STAY;
}

static enum step relay_down(struct conn *conn)
{
	bool is_held;
	enum step step =
		relay(conn, false, &conn->websocket->arrived, &is_held);

	if (step != STEP_STAY)
		return step;
	if (is_held)
		upstream_pause(conn->up);
	else
		upstream_resume(conn->up);
	return STEP_STAY;
}

static enum step on_body(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;

	if (buf_add(&work->arrived, upstream_span(conn->up)) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return STEP_END;
	}
	return relay_down(conn);
}

static enum step begin_relay(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;
	size_t max = SIZE_MAX;

	for (size_t i = 0; i < work->rule_count; i++)
		if (work->rules[i]->websocket->message_max < max)
			max = (size_t)work->rules[i]->websocket->message_max;
	buf_init(&work->arrived, WEBSOCKET_ARRIVED_MAX);
	work->began_ms = io_loop_now_ms(conn->edge->keeper->loop);
	if (websocket_end_init(&work->client, WEBSOCKET_CLIENT, max) < 0 ||
	    websocket_end_init(&work->upstream, WEBSOCKET_SERVER, max) < 0)
		return STEP_OTHER;
	return relay_up(conn);
}

static bool is_too_old(const struct conn *conn)
{
	return io_loop_now_ms(conn->edge->keeper->loop) -
		       conn->websocket->began_ms >=
	       WEBSOCKET_TOTAL_MS;
}

/* NEXT: it ends, close frames are due; OTHER: it broke off. */
static enum step step_websocket(struct conn *conn, enum lane_event event)
{
	if (event == EV_ENTER)
		return begin_relay(conn);
	if (is_too_old(conn))
		return end_with(conn, WEBSOCKET_AWAY);
	switch ((unsigned)event) {
	case EV_DATA:
	case EV_EOF:
	case EV_UP_DRAINED:
		return relay_up(conn);
	case EV_UP_BODY:
		return on_body(conn);
	case EV_DRAINED:
		return relay_down(conn);
	case EV_UP_FAILED:
		conn_refuse_upstream(conn);
		conn->websocket->is_over = true;
		return STEP_NEXT;
	case EV_UP_END:
		conn->websocket->is_over = true;
		return STEP_NEXT;
	default:
		return STEP_OTHER;
	}
}

static void write_closes(struct conn *conn)
{
	struct websocket_work *work = conn->websocket;
	auto_type(buf_release) struct buf out;

	buf_init(&out, 2 * WEBSOCKET_CONTROL_MAX);
	if (websocket_write_close(&work->client, work->code,
				  bytes_from(work->reason, work->reason_len),
				  &out) == 0)
		(void)send_down(conn, buf_view(&out));
	buf_clear(&out);
	if (websocket_write_close(&work->upstream, work->code,
				  bytes_from(NULL, 0), &out) == 0)
		(void)send_up(conn, buf_view(&out));
}

/* Wait for upstream to close, as servers do (RFC 6455 7.1.1). What still
 * comes is not looked at, and goes nowhere. */
static enum step step_close(struct conn *conn, enum lane_event event)
{
	if (event == EV_ENTER) {
		write_closes(conn);
		if (conn->websocket->is_over)
			return STEP_NEXT;
		upstream_resume(conn->up);
		return STEP_STAY;
	}
	buf_clear(io_in(conn->client));
	return event == EV_UP_END || event == EV_UP_FAILED ? STEP_NEXT
							   : STEP_STAY;
}

#define ON_CLIENT (EV_BIT(EV_DATA) | EV_BIT(EV_EOF) | EV_BIT(EV_DRAINED))
#define ON_BOTH	  (ON_CLIENT | EV_BIT(EV_UP_DRAINED) | EV_UP_RESPONSE)

const struct lane_state websocket_states[] = {
	[AT_WEBSOCKET_OPEN] = {"websocket_open", step_open,
			       ON_BOTH | EV_BIT(EV_UP_READY),
			       DEADLINE_UPSTREAM_MS, DEADLINE_PROGRESS,
			       AT_WEBSOCKET, AT_END, AT_DENY},
	[AT_WEBSOCKET] = {"websocket", step_websocket, ON_BOTH,
			  WEBSOCKET_IDLE_MS, DEADLINE_PROGRESS,
			  AT_WEBSOCKET_CLOSE, AT_END, AT_NONE},
	[AT_WEBSOCKET_CLOSE] = {"websocket_close", step_close, ON_BOTH,
				WEBSOCKET_CLOSE_MS, DEADLINE_FIXED, AT_END,
				AT_NONE, AT_NONE},
};
