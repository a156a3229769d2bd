#include "gateway/framer/framer.h"

/* RFC 9113 3.4: the courier has said it. */
#define PREFACE_BYTES 24

static int add_own(struct buf *out, const struct cut *cut, enum frame_type type,
		   const struct frame *from)
{
	const struct frame frame = {
		.type = (uint8_t)type,
		.flags = from->flags & FRAME_FLAG_END,
		.stream = cut->asked,
	};

	return frame_add_u32(out, &frame, (uint32_t)from->payload.len);
}

static int add_frame(struct buf *out, const struct cut *cut,
		     const struct frame *frame)
{
	const struct frame head = {.type = FRAME_HEAD, .stream = cut->asked};

	switch (frame->type) {
	case FRAME_HEADERS:
		return frame_add(out, &head);
	case FRAME_CONTINUATION:
		return 0;
	case FRAME_DATA:
		return add_own(out, cut, FRAME_BODY, frame);
	default:
		return frame_add(out, frame);
	}
}

int cut_frames(struct cut *cut, struct buf *in, struct buf *out)
{
	struct frame frame;
	size_t used;

	if (!cut->has_begun) {
		if (buf_len(in) < PREFACE_BYTES)
			return 0;
		buf_consume(in, PREFACE_BYTES);
		cut->has_begun = true;
	}
	while (frame_next(buf_view(in), &frame, &used) > 0) {
		if (add_frame(out, cut, &frame) < 0)
			return -1;
		buf_consume(in, used);
	}
	return 0;
}
