/*
 * Upstream's bytes on their way back to the edge, and what becomes of them
 * when the credential is among them.
 */
#include "gateway/courier/pass.h"
#include "common/log.h"
#include "gateway/courier/courier.h"
#include "gateway/courier/h2.h"

#define STOP_WAIT_MS 5000
/* Upstream pauses: what is held back goes on after so long. */
#define QUIET_MS 50
/* RFC 9112 7.1: what comes behind it is of no body with a word before it. */
#define LAST_CHUNK     "\r\n0\r\n\r\n"
#define STOPPED_REASON "credential_reflected"

/* ---- bytes ---- */

struct buf *leg_said(struct leg *leg)
{
	return leg->h2 ? &leg->h2->said : io_in(leg->upstream);
}

static int pass_piece(struct leg *leg, struct bytes piece)
{
	const uint8_t header[] = {
		LEG_DATA,
		(uint8_t)piece.len,
		(uint8_t)(piece.len >> 8),
		(uint8_t)(piece.len >> 16),
	};

	if (io_write(leg->edge, bytes_from(header, sizeof(header))) < 0)
		return -1;
	return io_write(leg->edge, piece);
}

static int pass_bytes(struct leg *leg, struct bytes bytes)
{
	while (bytes.len > 0) {
		struct bytes piece = bytes_slice(bytes, 0, LEG_PIECE_MAX);

		if (pass_piece(leg, piece) < 0)
			return -1;
		bytes = bytes_slice(bytes, piece.len, bytes.len);
	}
	return 0;
}

/* What follows may go on with what has passed. */
static void keep_passed(struct leg *leg, size_t passed)
{
	size_t kept = leg->reflect.count > 0 ? REFLECT_KEPT_MAX : 0;

	leg->passed += passed;
	if (leg->passed > kept) {
		buf_consume(leg_said(leg), leg->passed - kept);
		leg->passed = kept;
	}
	if (leg->h2)
		h2_taken(leg, passed);
}

/* ---- a reflection ---- */

static void on_stopped(struct rpc_outcome *outcome, void *owner)
{
	(void)owner;
	if (outcome->err)
		log_warn("a session was not stopped: %s", outcome->err->text);
}

static void stop_session(const struct leg *leg)
{
	const struct msg_session_ref message = {
		.id = bytes_str(leg->session),
		.reason = bytes_str(STOPPED_REASON),
	};
	const struct rpc_call call = {
		.type = MSG_SESSION_REVOKE,
		.schema = &msg_session_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = STOP_WAIT_MS,
		.on_outcome = on_stopped,
	};
	struct err err;

	if (rpc_ask(leg->courier->keeper->warden, &call, NULL, &err) < 0)
		log_warn("session %s was not stopped: %s", leg->session,
			 err.text);
}

/* One row a request. -1: there is no room for it. */
static int record_reflection(struct leg *leg, const char *what)
{
	bool is_push = leg->kind == LEG_PUSH;
	const struct record record = {
		.kind = RECORD_SECRET_REFLECTED,
		.constraint = CONSTRAINT_credential_reflected,
		.session = bytes_str(leg->session),
		.request_id = is_push ? leg->push.request_id
				      : leg->request.request_id,
		.rule = is_push ? leg->push.rule : leg->request.rule,
		.host = bytes_str(leg->target.host),
		.port = leg->target.port,
		.credential = bytes_str(leg->binding),
		.detail = bytes_str(what),
	};

	if (leg->is_reflected)
		return 0;
	leg->is_reflected = true;
	log_warn("session %s: %s sent a credential back: %s", leg->session,
		 leg->target.host, what);
	return keeper_record(leg->courier->keeper, &record);
}

static void cut_off(struct leg *leg)
{
	bool stops = leg->scrub == SCRUB_STOP;

	(void)record_reflection(leg, stops ? "cut off, and the session stopped"
					   : "cut off");
	if (stops)
		stop_session(leg);
	leg_refuse(leg, CONSTRAINT_credential_reflected,
		   "upstream sent the credential back: the response was cut "
		   "off before it");
}

void pass_back(struct leg *leg)
{
	struct buf *in = leg_said(leg);
	struct bytes may_pass;
	ssize_t len;

	if (!leg_wait(leg)) {
		leg_close(leg);
		return;
	}
	len = reflect_scan(&leg->reflect, in->data + in->start, buf_len(in),
			   leg->passed);
	if (len < 0 ||
	    (leg->reflect.found && record_reflection(leg, "overwritten") < 0)) {
		cut_off(leg);
		return;
	}
	may_pass = bytes_slice(buf_view(in), leg->passed,
			       leg->passed + (size_t)len);
	if (pass_bytes(leg, may_pass) < 0) {
		leg_close(leg);
		return;
	}
	keep_passed(leg, (size_t)len);
	if (bytes_ends_with(buf_view(in), bytes_str(LAST_CHUNK)))
		pass_rest(leg);
	if (io_is_full(leg->edge) && !leg->h2)
		io_read_stop(leg->upstream);
	pass_wait(leg);
}

static bool is_held(struct leg *leg)
{
	return leg->state != LEG_CLOSED && buf_len(leg_said(leg)) > leg->passed;
}

void pass_wait(struct leg *leg)
{
	io_timer_set(leg->quiet, is_held(leg) ? QUIET_MS : 0);
}

void pass_quiet(void *owner)
{
	struct leg *leg = owner;

	if (!is_held(leg))
		return;
	/* It is the edge that pauses. */
	if (io_is_full(leg->edge))
		pass_wait(leg);
	else
		pass_rest(leg);
}

void pass_rest(struct leg *leg)
{
	struct bytes rest =
		bytes_slice(buf_view(leg_said(leg)), leg->passed, SIZE_MAX);

	if (rest.len == 0)
		return;
	if (!reflect_let_go(&leg->reflect))
		cut_off(leg);
	else if (pass_bytes(leg, rest) < 0)
		leg_close(leg);
	else
		keep_passed(leg, rest.len);
}

void pass_forget(struct leg *leg)
{
	reflect_release(&leg->reflect);
	leg->is_reflected = false;
	keep_passed(leg, 0);
}
