#include "gateway/courier/h2.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/courier/attach.h"
#include "gateway/courier/fields.h"
#include "gateway/courier/pass.h"

static const struct io_limits framer_limits = {
	.in_max = 128 * 1024,
	.out_high = 256 * 1024,
	.out_max = 4 * 1024 * 1024,
};

/* RFC 9113 3.4. */
static const struct bytes preface =
	BYTES_LITERAL("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/* ---- life ---- */

int h2_begin(struct leg *leg, struct err *err)
{
	struct leg_h2 *h2 = calloc(1, sizeof(*h2));

	if (!h2)
		return err_set(err, ERR_SYSTEM, "open a leg");
	buf_init(&h2->head, H2_HEAD_MAX);
	buf_init(&h2->body, H2_BODY_MAX);
	buf_init(&h2->said, FRAMES_SAID_MAX + REFLECT_KEPT_MAX);
	leg->h2 = h2;
	return framers_join(leg, err);
}

/* What secrets stood in. */
static void forget(struct buf *buf)
{
	if (buf->data)
		secret_wipe(buf->data, buf->size);
	buf_release(buf);
}

void h2_close(struct leg *leg)
{
	framers_leave(leg);
	if (leg->h2 && leg->h2->io)
		io_close(leg->h2->io);
}

void h2_free(struct leg_h2 *h2)
{
	if (!h2)
		return;
	forget(&h2->head);
	forget(&h2->body);
	forget(&h2->said);
	free(h2);
}

/* ---- to the framer ---- */

static int tell(struct leg *leg, const struct frame *frame)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, FRAME_HEADER + FRAME_PAYLOAD_MAX);
	return frame_add(&out, frame) < 0
		       ? -1
		       : io_write(leg->h2->io, buf_view(&out));
}

static int tell_number(struct leg *leg, enum frame_type type, size_t number)
{
	const struct frame frame = {
		.type = (uint8_t)type,
		.stream = leg->h2->frames.stream,
	};
	auto_type(buf_release) struct buf out;

	buf_init(&out, FRAME_HEADER + 4);
	return frame_add_u32(&out, &frame, (uint32_t)number) < 0
		       ? -1
		       : io_write(leg->h2->io, buf_view(&out));
}

static int tell_end(struct leg *leg)
{
	const struct frame frame = {.type = FRAME_EOF};

	if (leg->h2->has_told)
		return 0;
	leg->h2->has_told = true;
	return tell(leg, &frame);
}

/* What upstream sent, unread. */
static int pass_wire(struct leg *leg)
{
	struct buf *in = io_in(leg->upstream);

	while (buf_len(in) > 0 && !io_is_full(leg->h2->io)) {
		const struct frame frame = {
			.type = FRAME_WIRE,
			.payload =
				bytes_slice(buf_view(in), 0, FRAME_PAYLOAD_MAX),
		};

		if (tell(leg, &frame) < 0)
			return -1;
		buf_consume(in, frame.payload.len);
	}
	if (leg->h2->is_upstream_over)
		return buf_len(in) > 0 ? 0 : tell_end(leg);
	if (io_is_full(leg->h2->io))
		io_read_stop(leg->upstream);
	else
		io_read_start(leg->upstream);
	return 0;
}

void h2_on_upstream(struct leg *leg, enum io_event event)
{
	bool is_there = leg->h2->io != NULL;

	if (event == IO_DRAINED) {
		leg_pump(leg);
		return;
	}
	if (event == IO_DATA && !is_there)
		return;
	if (!is_there) {
		leg_fail_opening(leg, CONSTRAINT_upstream_closed,
				 "closed before HTTP/2 began");
		return;
	}
	if (event == IO_TIMEOUT) {
		leg_close(leg);
		return;
	}
	leg->h2->is_upstream_over |= event != IO_DATA;
	if (pass_wire(leg) < 0)
		leg_close(leg);
}

/* ---- from the framer ---- */

static int pass_frame(struct leg *leg, const struct frame *frame)
{
	struct buf out;
	int result;

	buf_init(&out, FRAME_HEADER + FRAME_PAYLOAD_MAX);
	result = frame_add(&out, frame);
	if (result == 0)
		result = io_write(leg->upstream, buf_view(&out));
	forget(&out);
	return result;
}

static int pass_head(struct leg *leg)
{
	struct buf *head = &leg->h2->head;
	int result = io_write(leg->upstream, buf_view(head));

	forget(head);
	return result;
}

static int pass_body(struct leg *leg, const struct frame *frame)
{
	struct buf *body = &leg->h2->body;
	const struct frame data = {
		.type = FRAME_DATA,
		.flags = frame->flags,
		.stream = frame->stream,
		.payload = bytes_slice(buf_view(body), 0,
				       frame_u32(frame->payload)),
	};
	int result = pass_frame(leg, &data);

	buf_consume(body, data.payload.len);
	return result;
}

/* Nobody asks, so nobody is answered. */
static bool is_answered(const struct leg *leg)
{
	return leg->state == LEG_SENDING || leg->state == LEG_RECEIVING;
}

static int take_said(struct leg *leg, struct bytes payload)
{
	if (!is_answered(leg) || buf_add(&leg->h2->said, payload) < 0)
		return -1;
	if (!io_is_full(leg->edge))
		pass_back(leg);
	return 0;
}

/* Nothing more is said: so all that is held back may go, or nothing. */
static void pass_whole(struct leg *leg)
{
	if (is_answered(leg))
		pass_back(leg);
	if (leg->state != LEG_CLOSED)
		pass_rest(leg);
}

static void take_fault(struct leg *leg, enum frame_fault fault)
{
	pass_whole(leg);
	if (leg->state == LEG_CLOSED)
		return;
	if (fault == FAULT_MALFORMED)
		leg_refuse(leg, CONSTRAINT_response_malformed,
			   "%s breaks HTTP/2", leg->target.host);
	else
		leg_refuse(leg, CONSTRAINT_upstream_closed,
			   "%s ended the stream", leg->target.host);
}

/* 0, or -1: the leg must end. */
static int take_step(struct leg *leg, enum frames_step step,
		     const struct frame *frame)
{
	switch (step) {
	case FRAMES_PASS:
		return pass_frame(leg, frame);
	case FRAMES_HEAD:
		return pass_head(leg);
	case FRAMES_BODY:
		return pass_body(leg, frame);
	case FRAMES_SAID:
		return take_said(leg, frame->payload);
	case FRAMES_OVER:
		pass_whole(leg);
		return 0;
	case FRAMES_FAULT:
		take_fault(leg, (enum frame_fault)frame->payload.data[0]);
		return 0;
	case FRAMES_IGNORE:
		return 0;
	case FRAMES_MORE:
	case FRAMES_BROKEN:
	default:
		return -1;
	}
}

/* What cannot be written any more, since upstream is gone, is lost with it. */
static void take_frames(struct leg *leg)
{
	struct leg_h2 *h2 = leg->h2;
	struct buf *in = io_in(h2->io);
	struct frame frame;
	enum frames_step step;
	size_t used;

	while (leg->state != LEG_CLOSED) {
		step = frames_next(&h2->frames, buf_view(in), &frame, &used);
		if (step == FRAMES_MORE)
			break;
		if (take_step(leg, step, &frame) < 0 &&
		    (step == FRAMES_BROKEN || step == FRAMES_SAID ||
		     io_error(leg->upstream)->code == ERR_NONE)) {
			leg_close(leg);
			return;
		}
		buf_consume(in, used);
	}
	if (leg->state != LEG_CLOSED)
		leg_pump(leg);
}

static void on_framer(struct io *io, enum io_event event, void *owner)
{
	struct leg *leg = owner;

	(void)io;
	if (event == IO_RELEASED) {
		leg_released(leg);
		return;
	}
	if (leg->state == LEG_CLOSED)
		return;
	if (event == IO_DATA) {
		take_frames(leg);
	} else if (event == IO_DRAINED) {
		if (pass_wire(leg) < 0)
			leg_close(leg);
		else
			leg_pump(leg);
	} else {
		pass_whole(leg);
		leg_close(leg);
	}
}

void h2_stand(struct leg *leg, struct rpc *framer)
{
	const struct wire_empty empty = {0};
	struct leg_h2 *h2 = leg->h2;
	auto_fd int theirs = -1;
	struct err err;
	int fds[2];

	if (io_stream_pair(fds, &err) == 0) {
		theirs = fds[1];
		h2->io = io_new(leg->courier->keeper->loop, fds[0],
				&framer_limits, on_framer, leg);
	}
	if (!h2->io ||
	    rpc_tell(framer, MSG_FRAMES_OPEN, &wire_empty_schema, &empty,
		     theirs, &err) < 0 ||
	    io_write(leg->upstream, preface) < 0) {
		leg_fail_opening(leg, CONSTRAINT_internal,
				 "there is no framer");
		return;
	}
	io_read_start(h2->io);
	leg_stands(leg);
	if (leg->state != LEG_CLOSED && pass_wire(leg) < 0)
		leg_close(leg);
}

/* ---- the request ---- */

static bool has_body(const struct leg *leg)
{
	return leg->request.has_body &&
	       (!leg->request.has_length || swap_body_len(leg) > 0);
}

int h2_ask(struct leg *leg, struct bytes head, struct err *err)
{
	struct leg_h2 *h2 = leg->h2;
	uint8_t how = (has_body(leg) ? ASK_HAS_BODY : 0) |
		      (bytes_is(leg->request.method, "HEAD") ? ASK_IS_HEAD : 0);
	struct frame frame = {.type = FRAME_ASK};

	forget(&h2->body);
	frame.payload = bytes_from(&how, 1);
	(void)err_set(err, ERR_TOO_LARGE, "the head could not be written");
	if (frames_ask(&h2->frames, how & ASK_HAS_BODY) < 0 ||
	    fields_write(&h2->head, head, h2->frames.stream,
			 !(how & ASK_HAS_BODY)) < 0)
		return -1;
	frame.stream = h2->frames.stream;
	return tell(leg, &frame);
}

int h2_body(struct leg *leg, struct bytes bytes)
{
	struct leg_h2 *h2 = leg->h2;

	/* Upstream has answered, and wants no more of it. */
	if (!h2->frames.is_head_due && !h2->frames.is_body_due)
		return 0;
	if (buf_add(&h2->body, bytes) < 0)
		return -1;
	frames_give(&h2->frames, bytes.len);
	return tell_number(leg, FRAME_MORE, bytes.len);
}

int h2_body_end(struct leg *leg)
{
	struct leg_h2 *h2 = leg->h2;
	const struct frame frame = {
		.type = FRAME_LAST,
		.stream = h2->frames.stream,
	};

	if (!h2->frames.is_body_due)
		return 0;
	frames_end(&h2->frames);
	return tell(leg, &frame);
}

bool h2_is_full(const struct leg *leg)
{
	return leg->h2->io && (buf_len(&leg->h2->body) >= H2_BODY_HIGH ||
			       io_is_full(leg->h2->io));
}

/* ---- the response ---- */

void h2_taken(struct leg *leg, size_t len)
{
	struct leg_h2 *h2 = leg->h2;

	h2->taken += len;
	if (h2->taken < H2_TAKEN_LEAST)
		return;
	(void)tell_number(leg, FRAME_TAKEN, h2->taken);
	h2->taken = 0;
}

void h2_resume(struct leg *leg)
{
	if (is_answered(leg) && buf_len(&leg->h2->said) > leg->passed)
		pass_back(leg);
}
