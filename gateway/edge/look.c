/*
 * A body that a rule must see whole: held, looked at, and sent as it was
 * seen. Upstream gets no byte of it before the decision.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/attach.h"
#include "gateway/edge/look.h"
#include "gateway/edge/placeholders.h"
#include "gateway/edge/verify.h"
#include "policies/inspect/inspection.h"

/* What is handed to upstream at a time. */
#define SLICE_BYTES (64 * 1024)

struct look {
	struct buf held;
	uint64_t reserved; /* of it, in edge->held_bytes */
	size_t sent;
	/* Until the refusal that names what it found is sent. */
	struct inspection *seen;
};

void look_release(struct conn *conn)
{
	struct look *look = conn->look;

	if (!look)
		return;
	conn->look = NULL;
	conn->edge->held_bytes -= look->reserved;
	inspection_free(look->seen);
	buf_release(&look->held);
	free(look);
}

struct bytes look_body(const struct conn *conn)
{
	return conn->look ? buf_view(&conn->look->held) : bytes_from(NULL, 0);
}

/* ---- what may be held ---- */

/* In the name of the rule that wants to look. */
static void refuse(struct conn *conn, enum constraint constraint,
		   struct bytes reason)
{
	conn->verdict.kind = VERDICT_DENY;
	conn->verdict.constraint = constraint;
	conn->verdict.reason = reason;
	conn_refuse_request(conn);
}

static int refuse_size(struct conn *conn, uint64_t max)
{
	refuse(conn, CONSTRAINT_body_too_large, bytes_from(NULL, 0));
	conn->refusal.try_instead = bytes_str(
		arena_format(&conn->arena, "send a body of at most %llu bytes",
			     (unsigned long long)max));
	return -1;
}

/* Of all connections together. */
static uint64_t held_max(const struct conn *conn)
{
	return conn->law->policy->network_limits.held_bytes;
}

/* The most that this request may have held. */
static uint64_t max_of(const struct conn *conn)
{
	uint64_t max = held_max(conn);

	return conn->verdict.look_max < max ? conn->verdict.look_max : max;
}

bool look_has_room(const struct conn *conn, uint64_t bytes)
{
	uint64_t max = held_max(conn), held = conn->edge->held_bytes;

	/* A policy that holds since then may allow less than there is. */
	return held <= max && bytes <= max - held;
}

static int reserve(struct conn *conn, uint64_t bytes)
{
	struct look *look = conn->look;

	if (!look_has_room(conn, bytes)) {
		refuse(conn, CONSTRAINT_limit_bodies, bytes_from(NULL, 0));
		return -1;
	}
	conn->edge->held_bytes += bytes;
	look->reserved += bytes;
	return 0;
}

static int begin(struct conn *conn)
{
	const struct request *request = &conn->errand->request;
	uint64_t max = max_of(conn);
	bool knows_length = request->framing == FRAMING_LENGTH;

	conn->look = calloc(1, sizeof(*conn->look));
	if (!conn->look) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	buf_init(&conn->look->held, (size_t)max);
	if (knows_length && request->body_len > max)
		return refuse_size(conn, max);
	if (knows_length && reserve(conn, request->body_len) < 0)
		return -1;
	conn_continue(conn);
	return 0;
}

static int hold(struct conn *conn, struct bytes bytes)
{
	struct look *look = conn->look;
	size_t len = buf_len(&look->held) + bytes.len;

	if (bytes.len > buf_room(&look->held))
		return refuse_size(conn, look->held.max);
	if (len > look->reserved && reserve(conn, len - look->reserved) < 0)
		return -1;
	if (buf_add(&look->held, bytes) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_internal, "memory is out");
	return -1;
}

static bool never_full(struct conn *conn)
{
	(void)conn;
	return false;
}

/* ---- the look ---- */

static struct bytes value_of(const struct fields *fields, const char *name)
{
	const struct field *field = fields_find(fields, name);

	return field ? field->value : bytes_from(NULL, 0);
}

static int open_body(struct conn *conn)
{
	const struct fields *fields = &conn->errand->request.fields;
	struct look *look = conn->look;
	const struct inspect_source source = {
		.type = value_of(fields, "Content-Type"),
		.encoding = value_of(fields, "Content-Encoding"),
		.query = conn->errand->request.query,
		.body = buf_view(&look->held),
		.decoded_max = conn->verdict.look_max,
		.prints = conn->edge->own.prints,
		/* Worthless elsewhere, as the session's lease is. */
		.exempt = conn->law->placeholders->texts,
		.exempt_count = conn->law->placeholders->texts_count,
		.exempt_digest = conn->edge->lease_hash,
	};
	struct err err;

	/* Upstream might believe the other one. */
	if (fields_count_of(fields, "Content-Type") > 1 ||
	    fields_count_of(fields, "Content-Encoding") > 1) {
		refuse(conn, CONSTRAINT_body_unreadable,
		       bytes_str("Content-Type and Content-Encoding may stand "
				 "only once each"));
		return -1;
	}
	if (!source.prints && own_secrets_are_wanted(conn->edge)) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "the session's own secrets are not known yet");
		return -1;
	}
	look->seen = inspection_new(&source, &err);
	if (look->seen)
		return 0;
	refuse(conn, CONSTRAINT_body_unreadable,
	       arena_copy(&conn->arena, bytes_str(err.text)));
	return -1;
}

/* The length is that of the bytes which were seen. */
static enum step finish(struct conn *conn)
{
	struct look *look = conn->look;

	conn->errand->request.body_len = buf_len(&look->held);
	conn->errand->request.framing =
		conn->errand->request.body_len ? FRAMING_LENGTH : FRAMING_NONE;
	if (conn->errand->request.framing == FRAMING_NONE)
		look_release(conn);
	return STEP_NEXT;
}

static enum step decide(struct conn *conn)
{
	struct request_facts facts =
		request_facts_of(&conn->errand->target, &conn->errand->request);
	struct look *look = conn->look;

	if (open_body(conn) < 0)
		return STEP_DENY;
	facts.body = look->seen;
	facts.body_bytes = buf_len(&look->held);
	conn->verdict = decide_request(conn->law->policy, &facts, NULL);
	/* It was asked with all there is. */
	if (conn->verdict.kind == VERDICT_LOOK)
		refuse(conn, CONSTRAINT_body_unreadable, bytes_from(NULL, 0));
	else if (conn->verdict.kind == VERDICT_DENY)
		conn_refuse_request(conn);
	if (conn->verdict.kind == VERDICT_DENY ||
	    verify_begin(conn, look->seen) < 0)
		return STEP_DENY;
	inspection_free(look->seen);
	look->seen = NULL;
	return finish(conn);
}

/* 1, 0 or -1; a rule's own bound comes before the credential's. */
static int wants_body(struct conn *conn, enum lane_event event)
{
	int wants;

	if (conn->verdict.kind == VERDICT_LOOK || event != EV_ENTER)
		return 1;
	wants = attach_wants_body(conn);
	if (wants > 0)
		conn->verdict.look_max = ATTACH_BODY_MAX;
	return wants;
}

/* A policy that holds since it began may bound it elsewhere; one that wants no
 * look any more leaves the bound that was. */
static int follow(struct conn *conn)
{
	struct buf *held = &conn->look->held;
	uint64_t max = max_of(conn);

	if (conn->verdict.kind != VERDICT_LOOK || max == held->max)
		return 0;
	if (buf_len(held) > max)
		return refuse_size(conn, max);
	held->max = (size_t)max;
	return 0;
}

enum step look_step(struct conn *conn, enum lane_event event)
{
	int wants = wants_body(conn, event);

	if (wants <= 0)
		return wants < 0 ? STEP_DENY : STEP_NEXT;
	if ((event == EV_ENTER ? begin(conn) : follow(conn)) < 0)
		return STEP_DENY;
	if (conn_pump_body(conn, hold, never_full) < 0)
		return STEP_DENY;
	if (!conn->body_done)
		return STEP_STAY;
	return conn->verdict.kind == VERDICT_LOOK ? decide(conn) : finish(conn);
}

/* ---- sending it ---- */

int look_send(struct conn *conn)
{
	struct look *look = conn->look;
	struct bytes held = buf_view(&look->held);

	while (look->sent < held.len && !upstream_is_full(conn->up)) {
		struct bytes slice =
			bytes_slice(held, look->sent, look->sent + SLICE_BYTES);

		if (upstream_body(conn->up, slice) < 0) {
			conn_refuse(conn, CONSTRAINT_upstream_closed,
				    "the upstream takes no more of the body");
			return -1;
		}
		look->sent += slice.len;
	}
	if (look->sent < held.len)
		return 0;
	look_release(conn);
	return 1;
}
