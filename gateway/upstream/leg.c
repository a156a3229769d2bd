/*
 * A connection behind the courier: the edge sends structured requests and
 * gets upstream's bytes back in frames.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/http/write.h"
#include "gateway/upstream/inside.h"

#define LEG_OPEN_TIMEOUT_MS 20000

static const struct io_limits limits = {
	.in_max = UPSTREAM_IN_MAX + LEG_FRAME_MAX,
	.out_high = UPSTREAM_OUT_HIGH,
	.out_max = UPSTREAM_OUT_MAX,
};

/* ---- open ---- */

struct leg_asking {
	struct upstream *up; /* NULL: nobody waits */
};

static int take_leg(struct upstream *up, const struct msg_leg_opened *opened,
		    int fd)
{
	up->keeps_trailers = opened->speaks_h2;
	up->io =
		io_new(up->pool->keeper->loop, fd, &limits, upstream_on_io, up);
	if (!up->io)
		return -1;
	io_read_start(up->io);
	upstream_ready(up);
	return 0;
}

static void on_leg_opened(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct leg_asking *asking = owner;
	struct upstream *up = asking->up;

	if (!up)
		return;
	up->asking = NULL;
	if (outcome->err)
		upstream_fail(
			up, constraint_of_connecting(outcome), "%.*s",
			BYTES_ARGS(outcome->refusal
					   ? outcome->refusal->detail
					   : bytes_str(outcome->err->text)));
	else if (outcome->fd < 0 ||
		 take_leg(up, outcome->message, take_fd(&outcome->fd)) < 0)
		upstream_fail(up, CONSTRAINT_internal,
			      "the courier gave no leg");
}

static int take_mark(const struct upstream *up, uint8_t mark[DIGEST_LEN],
		     struct err *err)
{
	const struct scope *scope = up->pool->scope;
	const struct scope_binding *binding =
		scope ? scope_binding_named(scope, bytes_str(up->binding))
		      : NULL;

	return binding ? scope_binding_mark(binding, mark, err)
		       : err_set(err, ERR_DENIED,
				 "the policy has no credential %s any more",
				 up->binding);
}

int upstream_start_leg(struct upstream *up, int fd, struct err *err)
{
	struct keeper_peer *courier =
		keeper_peer_of(up->pool->keeper, ROLE_COURIER);
	auto_fd int connection = fd;
	auto_free struct leg_asking *asking = calloc(1, sizeof(*asking));
	uint8_t mark[DIGEST_LEN] = {0};
	const struct msg_leg_open message = {
		.binding = bytes_str(up->binding),
		.host = bytes_str(up->target.host),
		.port = up->target.port,
		.offers_h2 = up->offers_h2,
		.mark = bytes_from(mark, sizeof(mark)),
	};
	const struct rpc_call call = {
		.type = MSG_LEG_OPEN,
		.schema = &msg_leg_open_schema,
		.message = &message,
		.fd = connection,
		.reply_schema = &msg_leg_opened_schema,
		.timeout_ms = LEG_OPEN_TIMEOUT_MS,
		.on_outcome = on_leg_opened,
		.owner = asking,
	};

	if (!courier || !asking)
		return err_set(err, ERR_CLOSED, "the courier is not there");
	if (take_mark(up, mark, err) < 0)
		return -1;
	asking->up = up;
	if (rpc_ask(courier->rpc, &call, NULL, err) < 0)
		return -1;
	up->asking = take_ptr(&asking);
	return 0;
}

void upstream_cancel_leg(struct leg_asking *asking)
{
	asking->up = NULL;
}

/* ---- send ---- */

static int send_frame(struct upstream *up, enum leg_kind kind,
		      const struct wire_schema *schema, const void *msg,
		      struct err *err)
{
	auto_type(buf_release) struct buf frame;

	buf_init(&frame, LEG_HEAD_MAX + 16);
	if (leg_add_message(&frame, kind, schema, msg, err) < 0)
		return -1;
	if (io_write(up->io, buf_view(&frame)) < 0)
		return err_set(err, ERR_CLOSED, "send to the courier");
	return 0;
}

/* A request's parts as both kinds of frame have them. */
struct parts {
	char path[2 * HEAD_LINE_MAX];
	size_t path_len;
	struct leg_field fields[HEAD_FIELDS_MAX];
	size_t fields_count;
};

/* What asks for a WebSocket: the courier writes it itself, and needs the key
 * and the subprotocols alone. */
static bool is_handshake(struct bytes name)
{
	static const struct bytes prefix = BYTES_LITERAL("Sec-WebSocket-");

	return bytes_is_nocase(name, "Connection") ||
	       bytes_is_nocase(name, "Upgrade") ||
	       bytes_equal_nocase(bytes_slice(name, 0, prefix.len), prefix);
}

static int take_parts(struct parts *parts, const struct request *request,
		      struct err *err)
{
	const struct fields *fields = &request->fields;
	int len = snprintf(parts->path, sizeof(parts->path), "%.*s%s%.*s",
			   BYTES_ARGS(request->path),
			   request->has_query ? "?" : "",
			   BYTES_ARGS(request->query));

	(void)err_set(err, ERR_TOO_LARGE, "send request: too large");
	if (len < 0 || (size_t)len >= sizeof(parts->path))
		return -1;
	parts->path_len = (size_t)len;
	parts->fields_count = 0;
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->items[i];

		if (request->is_websocket && is_handshake(field->name))
			continue;
		if (parts->fields_count == HEAD_FIELDS_MAX)
			return -1;
		parts->fields[parts->fields_count++] =
			(struct leg_field){field->name, field->value};
	}
	return 0;
}

static struct bytes value_of(const struct fields *fields, const char *name)
{
	const struct field *field = fields_find(fields, name);

	return field ? field->value : bytes_from(NULL, 0);
}

static int send_upgrade(struct upstream *up, const struct request *request,
			const struct parts *parts,
			const struct upstream_labels *labels, struct err *err)
{
	const struct leg_upgrade message = {
		.request_id = labels->request_id,
		.rule = labels->rule,
		.path = bytes_from(parts->path, parts->path_len),
		.fields = parts->fields,
		.fields_count = parts->fields_count,
		.key = value_of(&request->fields, "Sec-WebSocket-Key"),
		.protocols =
			value_of(&request->fields, "Sec-WebSocket-Protocol"),
	};

	return send_frame(up, LEG_UPGRADE, &leg_upgrade_schema, &message, err);
}

static int leg_send(struct upstream *up, const struct request *request,
		    const struct upstream_labels *labels, struct err *err)
{
	struct parts parts;
	struct leg_request message = {
		.request_id = labels->request_id,
		.rule = labels->rule,
		.method = request->method,
		.fields = parts.fields,
		.has_body = request->framing != FRAMING_NONE,
		.has_length = request->framing == FRAMING_LENGTH,
		.body_len = request->body_len,
		.swaps = request->swaps,
		.swaps_count = request->swaps_count,
		.body_sha256 = request->body_sha256,
	};

	if (take_parts(&parts, request, err) < 0)
		return -1;
	if (request->is_websocket)
		return send_upgrade(up, request, &parts, labels, err);
	message.path = bytes_from(parts.path, parts.path_len);
	message.fields_count = parts.fields_count;
	return send_frame(up, LEG_REQUEST, &leg_request_schema, &message, err);
}

int upstream_send_push(struct upstream *up, const struct leg_push *push,
		       struct err *err)
{
	if (up->state != UP_READY || up->kind != &upstream_leg)
		return err_set(err, ERR_INVALID, "send push: no leg is ready");
	up->body_is_open = true;
	if (io_error(up->io)->code != ERR_NONE)
		return 0;
	if (send_frame(up, LEG_PUSH, &leg_push_schema, push, err) < 0)
		return io_error(up->io)->code != ERR_NONE ? 0 : -1;
	upstream_expect_response(up, bytes_str("POST"));
	return 0;
}

static int leg_body(struct upstream *up, struct bytes bytes)
{
	while (bytes.len > 0) {
		struct bytes part = bytes_slice(bytes, 0, LEG_PIECE_MAX);
		const uint8_t header[] = {
			LEG_BODY,
			(uint8_t)part.len,
			(uint8_t)(part.len >> 8),
			(uint8_t)(part.len >> 16),
		};

		if (io_write(up->io, bytes_from(header, sizeof(header))) < 0 ||
		    io_write(up->io, part) < 0)
			return -1;
		bytes = bytes_slice(bytes, part.len, bytes.len);
	}
	return 0;
}

static int leg_body_end(struct upstream *up)
{
	static const uint8_t frame[] = {LEG_END, 0, 0, 0};

	return io_write(up->io, bytes_from(frame, sizeof(frame)));
}

int upstream_done_leg(struct upstream *up)
{
	static const uint8_t frame[] = {LEG_DONE, 0, 0, 0};

	return io_write(up->io, bytes_from(frame, sizeof(frame)));
}

/* ---- receive ---- */

static int refused(struct upstream *up, struct bytes payload, struct err *err)
{
	auto_type(arena_release) struct arena arena;
	struct leg_refused message;

	arena_init(&arena, LEG_FRAME_MAX);
	if (wire_decode(&leg_refused_schema, payload, &arena, &message, err) <
	    0)
		return -1;
	if (message.constraint >= CONSTRAINT_MAX)
		message.constraint = CONSTRAINT_internal;
	upstream_fail(up, (enum constraint)message.constraint, "%.*s",
		      BYTES_ARGS(message.detail));
	return 0;
}

static int take_frame(struct upstream *up, enum leg_kind kind,
		      struct bytes payload, struct err *err)
{
	switch (kind) {
	case LEG_DATA:
		if (buf_add(&up->raw, payload) < 0)
			return err_set(err, ERR_TOO_LARGE, "leg is full");
		return 0;
	case LEG_EOF:
		up->has_ended = true;
		return 0;
	case LEG_REFUSED:
		return refused(up, payload, err);
	case LEG_REQUEST:
	case LEG_PUSH:
	case LEG_BODY:
	case LEG_END:
	case LEG_DONE:
	case LEG_UPGRADE:
	case LEG_KIND_MAX:
	default:
		return err_set(err, ERR_INVALID, "the courier sent frame %d",
			       (int)kind);
	}
}

/* Frames stay in io_in() while raw has no room for one more: so a paused
 * response holds at most UPSTREAM_IN_MAX here. */
static int leg_receive(struct upstream *up, struct err *err)
{
	struct buf *in = io_in(up->io);
	enum leg_kind kind;
	struct bytes payload;
	size_t used;
	int got = 0;

	while (up->state != UP_FAILED && up->state != UP_CLOSED &&
	       buf_room(&up->raw) >= LEG_FRAME_MAX) {
		got = leg_next(buf_view(in), &kind, &payload, &used);
		if (got <= 0)
			break;
		if (take_frame(up, kind, payload, err) < 0)
			return -1;
		if (up->state == UP_CLOSED)
			return 0;
		buf_consume(in, used);
	}
	return got < 0 ? err_set(err, ERR_INVALID, "not a leg frame") : 0;
}

static struct buf *leg_source(struct upstream *up)
{
	return &up->raw;
}

const struct upstream_kind upstream_leg = {
	.send = leg_send,
	.body = leg_body,
	.body_end = leg_body_end,
	.receive = leg_receive,
	.source = leg_source,
};
