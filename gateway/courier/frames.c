#include "gateway/courier/frames.h"

#include "common/cleanup.h"

int frames_ask(struct frames *frames, bool has_body)
{
	if (frames->stream >= FRAME_STREAM_MAX - 1)
		return -1;
	*frames = (struct frames){
		.stream = frames->stream ? frames->stream + 2 : 1,
		.has_settings = frames->has_settings,
		.is_head_due = true,
		.is_body_due = has_body,
		.is_response_due = true,
	};
	return 0;
}

void frames_give(struct frames *frames, size_t len)
{
	frames->body_left += len;
}

void frames_end(struct frames *frames)
{
	frames->is_body_whole = true;
}

/* ---- what goes upstream ---- */

static bool is_of_connection(const struct frame *frame)
{
	return frame->stream == 0;
}

/* One whose head went out, now or before. */
static bool is_of_stream(const struct frames *frames, const struct frame *frame)
{
	if (frame->stream % 2 == 0 || frame->stream > frames->stream)
		return false;
	return frame->stream < frames->stream || !frames->is_head_due;
}

/* The first of all, then acknowledgements. */
static bool is_settings(struct frames *frames, const struct frame *frame)
{
	bool is_first = !frames->has_settings;

	frames->has_settings = true;
	if (!is_of_connection(frame))
		return false;
	if (is_first)
		return frame->flags == 0 && frame->payload.len % 6 == 0 &&
		       frame->payload.len <= FRAMES_SETTINGS_MAX;
	return frame->flags == FRAME_FLAG_END && frame->payload.len == 0;
}

static bool may_pass(struct frames *frames, const struct frame *frame)
{
	switch ((enum frame_type)frame->type) {
	case FRAME_SETTINGS:
		return is_settings(frames, frame);
	case FRAME_PING:
		return frame->flags == FRAME_FLAG_END &&
		       frame->payload.len == 8 && is_of_connection(frame);
	case FRAME_WINDOW_UPDATE:
		return frame->flags == 0 && frame->payload.len == 4 &&
		       (is_of_connection(frame) || is_of_stream(frames, frame));
	case FRAME_RST_STREAM:
		return frame->flags == 0 && frame->payload.len == 4 &&
		       is_of_stream(frames, frame);
	case FRAME_GOAWAY:
		return frame->flags == 0 && frame->payload.len >= 8 &&
		       frame->payload.len <= FRAMES_GOAWAY_MAX &&
		       is_of_connection(frame);
	case FRAME_DATA:
	case FRAME_HEADERS:
	case FRAME_CONTINUATION:
	case FRAME_WIRE:
	case FRAME_EOF:
	case FRAME_ASK:
	case FRAME_MORE:
	case FRAME_LAST:
	case FRAME_TAKEN:
	case FRAME_HEAD:
	case FRAME_BODY:
	case FRAME_SAID:
	case FRAME_OVER:
	case FRAME_FAULT:
	default:
		return false;
	}
}

static enum frames_step take_head(struct frames *frames,
				  const struct frame *frame)
{
	if (!frames->is_head_due || frame->flags != 0 || frame->payload.len > 0)
		return FRAMES_BROKEN;
	frames->is_head_due = false;
	return FRAMES_HEAD;
}

static enum frames_step take_body(struct frames *frames,
				  const struct frame *frame)
{
	bool is_end = frame->flags == FRAME_FLAG_END;
	uint32_t len;

	if (frames->is_head_due || !frames->is_body_due ||
	    frame->payload.len != 4 || (frame->flags != 0 && !is_end))
		return FRAMES_BROKEN;
	len = frame_u32(frame->payload);
	if (len > FRAME_PAYLOAD_MAX || len > frames->body_left ||
	    (is_end && (!frames->is_body_whole || len < frames->body_left)))
		return FRAMES_BROKEN;
	frames->body_left -= len;
	frames->is_body_due = !is_end;
	return FRAMES_BODY;
}

/* ---- what upstream said ---- */

static enum frames_step take_said(const struct frames *frames,
				  const struct frame *frame)
{
	return frames->is_head_due || !frames->is_response_due ||
			       frame->flags != 0 || frame->payload.len == 0
		       ? FRAMES_BROKEN
		       : FRAMES_SAID;
}

static enum frames_step take_over(struct frames *frames,
				  const struct frame *frame)
{
	if (frames->is_head_due || !frames->is_response_due ||
	    frame->flags != 0 || frame->payload.len > 0)
		return FRAMES_BROKEN;
	frames->is_response_due = false;
	return FRAMES_OVER;
}

static enum frames_step take_fault(struct frames *frames,
				   const struct frame *frame)
{
	if (frame->flags != 0 || frame->payload.len != 1 ||
	    frame->payload.data[0] >= FAULT_MAX)
		return FRAMES_BROKEN;
	frames->is_response_due = false;
	return FRAMES_FAULT;
}

static enum frames_step take_own(struct frames *frames,
				 const struct frame *frame)
{
	/* How one ended that was taken for ended already. */
	if (frame->stream % 2 == 1 && frame->stream < frames->stream &&
	    (frame->type == FRAME_OVER || frame->type == FRAME_FAULT))
		return FRAMES_IGNORE;
	if (frame->stream == 0 || frame->stream != frames->stream)
		return FRAMES_BROKEN;
	switch (frame->type) {
	case FRAME_HEAD:
		return take_head(frames, frame);
	case FRAME_BODY:
		return take_body(frames, frame);
	case FRAME_SAID:
		return take_said(frames, frame);
	case FRAME_OVER:
		return take_over(frames, frame);
	case FRAME_FAULT:
		return take_fault(frames, frame);
	default:
		return FRAMES_BROKEN;
	}
}

enum frames_step frames_next(struct frames *frames, struct bytes input,
			     struct frame *frame, size_t *used)
{
	int got = frame_next(input, frame, used);

	if (got <= 0)
		return got < 0 ? FRAMES_BROKEN : FRAMES_MORE;
	if (frame->type >= FRAME_HEAD)
		return take_own(frames, frame);
	/* Nothing before SETTINGS (RFC 9113 3.4). */
	if (frame->type != FRAME_SETTINGS && !frames->has_settings)
		return FRAMES_BROKEN;
	return may_pass(frames, frame) ? FRAMES_PASS : FRAMES_BROKEN;
}
