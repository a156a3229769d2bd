/*
 * Bytes of a framer that was taken over, at some moment of a request. Whatever
 * it says, nothing reaches upstream but six kinds of frames of a fixed shape,
 * at most one head for each request, and of its body no byte more than there
 * is; after its end nothing. In pieces the same comes out as in one.
 */
#include <assert.h>

#include "common/cleanup.h"
#include "gateway/courier/frames.h"

#define BODY_BYTES 1000

struct tally {
	unsigned heads, ends, overs;
	size_t passed, body, said;
};

static void check_passed(const struct frames *frames, const struct frame *frame)
{
	size_t len = frame->payload.len;

	assert(frames->has_settings);
	assert(frame->stream <= frames->stream);
	assert(frame->stream == 0 || frame->stream % 2 == 1);
	switch (frame->type) {
	case FRAME_RST_STREAM:
		assert(len == 4 && frame->stream > 0);
		break;
	case FRAME_WINDOW_UPDATE:
		assert(len == 4);
		break;
	case FRAME_PING:
		assert(len == 8 && frame->flags == FRAME_FLAG_END);
		break;
	case FRAME_SETTINGS:
		assert(len <= FRAMES_SETTINGS_MAX && len % 6 == 0);
		break;
	case FRAME_GOAWAY:
		assert(len <= FRAMES_GOAWAY_MAX);
		break;
	default:
		assert(false);
	}
}

static void take(struct tally *tally, const struct frames *frames,
		 enum frames_step step, const struct frame *frame)
{
	if (step == FRAMES_PASS) {
		check_passed(frames, frame);
		tally->passed += frame->payload.len;
	} else if (step == FRAMES_HEAD) {
		assert(tally->heads++ == 0 && tally->body == 0);
	} else if (step == FRAMES_BODY) {
		assert(tally->heads == 1 && tally->ends == 0);
		tally->body += frame_u32(frame->payload);
		assert(tally->body <= BODY_BYTES);
		tally->ends += frame->flags & FRAME_FLAG_END;
		assert(tally->ends == 0 || tally->body == BODY_BYTES);
	} else if (step == FRAMES_SAID) {
		assert(tally->heads == 1 && tally->overs == 0);
		tally->said += frame->payload.len;
	} else if (step == FRAMES_OVER) {
		assert(tally->heads == 1 && tally->overs++ == 0);
	}
}

/* Until it waits for more, or breaks the rules. */
static bool drain(struct frames *frames, struct buf *in, struct tally *tally)
{
	struct frame frame;
	enum frames_step step;
	size_t used;

	do {
		step = frames_next(frames, buf_view(in), &frame, &used);
		if (step == FRAMES_MORE || step == FRAMES_BROKEN)
			return step == FRAMES_MORE;
		take(tally, frames, step, &frame);
		buf_consume(in, used);
	} while (step != FRAMES_FAULT);
	return false;
}

static struct tally play(uint8_t choice, struct bytes input, size_t piece)
{
	auto_type(buf_release) struct buf in;
	struct frames frames = {0};
	struct tally tally = {0};
	bool goes_on = true;

	buf_init(&in, input.len + 1);
	for (unsigned i = 0; i < 1u + choice % 3; i++)
		assert(frames_ask(&frames, choice & 4) == 0);
	if (choice & 4)
		frames_give(&frames, BODY_BYTES);
	if (choice & 8)
		frames_end(&frames);
	while (goes_on && input.len > 0) {
		assert(buf_add(&in, bytes_slice(input, 0, piece)) == 0);
		input = bytes_slice(input, piece, input.len);
		goes_on = drain(&frames, &in, &tally);
	}
	assert((choice & 12) == 12 || tally.ends == 0);
	assert(choice & 4 || tally.body == 0);
	return tally;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tally whole, pieces;
	struct bytes input;

	if (size < 2)
		return 0;
	input = bytes_from(data + 1, size - 1);
	whole = play(data[0], input, input.len);
	pieces = play(data[0], input, 1);
	assert(whole.heads == pieces.heads && whole.ends == pieces.ends &&
	       whole.overs == pieces.overs && whole.passed == pieces.passed &&
	       whole.body == pieces.body && whole.said == pieces.said);
	return 0;
}
