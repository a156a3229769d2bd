/*
 * What a framer may say, and what one that was taken over could try.
 */
#include "gateway/courier/frames.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/cleanup.h"

#define EIGHT BYTES_LITERAL("12345678")
#define FOUR  BYTES_LITERAL("\0\0\0\1")
#define SIX   BYTES_LITERAL("\0\2\0\0\0\0")
#define ACK   FRAME_FLAG_END

/* Where the connection is when the frame comes. */
enum at {
	AT_BEGIN, /* nothing was said */
	AT_IDLE,  /* SETTINGS were, and nothing was asked */
	AT_ASKED, /* a request with a body, whose head did not go out */
	AT_BODY,  /* it did, and two bytes of its body are there */
	AT_LAST,  /* which are all of it */
	AT_OVER,  /* all was said and answered */
	AT_THIRD  /* and another request's head went out, without a body */
};

static enum frames_step say(struct frames *frames, const struct frame *frame)
{
	auto_type(buf_release) struct buf bytes;
	struct frame read;
	size_t used;

	buf_init(&bytes, 1024);
	assert_int_equal(frame_add(&bytes, frame), 0);
	return frames_next(frames, buf_view(&bytes), &read, &used);
}

static void say_own(struct frames *frames, enum frame_type type)
{
	const struct frame frame = {
		.type = (uint8_t)type,
		.stream = frames->stream,
	};

	assert_int_not_equal(say(frames, &frame), FRAMES_BROKEN);
}

static struct frames frames_at(enum at at)
{
	static const struct frame settings = {.type = FRAME_SETTINGS};
	static const struct frame body = {
		.type = FRAME_BODY,
		.flags = FRAME_FLAG_END,
		.stream = 1,
		.payload = BYTES_LITERAL("\0\0\0\2"),
	};
	struct frames frames = {0};

	if (at >= AT_IDLE)
		assert_int_equal(say(&frames, &settings), FRAMES_PASS);
	if (at >= AT_ASKED)
		assert_int_equal(frames_ask(&frames, true), 0);
	if (at >= AT_BODY)
		say_own(&frames, FRAME_HEAD);
	if (at >= AT_BODY)
		frames_give(&frames, 2);
	if (at >= AT_LAST)
		frames_end(&frames);
	if (at >= AT_OVER) {
		assert_int_equal(say(&frames, &body), FRAMES_BODY);
		say_own(&frames, FRAME_OVER);
	}
	if (at >= AT_THIRD) {
		assert_int_equal(frames_ask(&frames, false), 0);
		say_own(&frames, FRAME_HEAD);
	}
	return frames;
}

static const struct {
	const char *what;
	enum at at;
	struct frame frame;
	enum frames_step step;
} cases[] = {
	/* what passes */
	{"SETTINGS, first of all",
	 AT_BEGIN,
	 {FRAME_SETTINGS, 0, 0, SIX},
	 FRAMES_PASS},
	{"no SETTINGS first",
	 AT_BEGIN,
	 {FRAME_PING, ACK, 0, EIGHT},
	 FRAMES_BROKEN},
	{"an acknowledgement first",
	 AT_BEGIN,
	 {FRAME_SETTINGS, ACK, 0, {0}},
	 FRAMES_BROKEN},
	{"cut SETTINGS", AT_BEGIN, {FRAME_SETTINGS, 0, 0, FOUR}, FRAMES_BROKEN},
	{"SETTINGS on a stream",
	 AT_BEGIN,
	 {FRAME_SETTINGS, 0, 1, SIX},
	 FRAMES_BROKEN},
	{"SETTINGS again", AT_IDLE, {FRAME_SETTINGS, 0, 0, SIX}, FRAMES_BROKEN},
	{"their acknowledgement",
	 AT_IDLE,
	 {FRAME_SETTINGS, ACK, 0, {0}},
	 FRAMES_PASS},
	{"one with more in it",
	 AT_IDLE,
	 {FRAME_SETTINGS, ACK, 0, SIX},
	 FRAMES_BROKEN},
	{"a PING's answer", AT_IDLE, {FRAME_PING, ACK, 0, EIGHT}, FRAMES_PASS},
	{"a PING", AT_IDLE, {FRAME_PING, 0, 0, EIGHT}, FRAMES_BROKEN},
	{"a short one", AT_IDLE, {FRAME_PING, ACK, 0, FOUR}, FRAMES_BROKEN},
	{"a PING on a stream",
	 AT_BODY,
	 {FRAME_PING, ACK, 1, EIGHT},
	 FRAMES_BROKEN},
	{"a window of all",
	 AT_IDLE,
	 {FRAME_WINDOW_UPDATE, 0, 0, FOUR},
	 FRAMES_PASS},
	{"a window of the stream",
	 AT_BODY,
	 {FRAME_WINDOW_UPDATE, 0, 1, FOUR},
	 FRAMES_PASS},
	{"of one that is over",
	 AT_THIRD,
	 {FRAME_WINDOW_UPDATE, 0, 1, FOUR},
	 FRAMES_PASS},
	{"of one that is not there yet",
	 AT_ASKED,
	 {FRAME_WINDOW_UPDATE, 0, 1, FOUR},
	 FRAMES_BROKEN},
	{"of one that never was",
	 AT_BODY,
	 {FRAME_WINDOW_UPDATE, 0, 3, FOUR},
	 FRAMES_BROKEN},
	{"of one of upstream's",
	 AT_THIRD,
	 {FRAME_WINDOW_UPDATE, 0, 2, FOUR},
	 FRAMES_BROKEN},
	{"a window with flags",
	 AT_IDLE,
	 {FRAME_WINDOW_UPDATE, 1, 0, FOUR},
	 FRAMES_BROKEN},
	{"a long window",
	 AT_IDLE,
	 {FRAME_WINDOW_UPDATE, 0, 0, EIGHT},
	 FRAMES_BROKEN},
	{"a reset", AT_BODY, {FRAME_RST_STREAM, 0, 1, FOUR}, FRAMES_PASS},
	{"a reset before the head",
	 AT_ASKED,
	 {FRAME_RST_STREAM, 0, 1, FOUR},
	 FRAMES_BROKEN},
	{"a reset of all",
	 AT_BODY,
	 {FRAME_RST_STREAM, 0, 0, FOUR},
	 FRAMES_BROKEN},
	{"the end", AT_IDLE, {FRAME_GOAWAY, 0, 0, EIGHT}, FRAMES_PASS},
	{"half of it", AT_IDLE, {FRAME_GOAWAY, 0, 0, FOUR}, FRAMES_BROKEN},
	{"the end of a stream",
	 AT_BODY,
	 {FRAME_GOAWAY, 0, 1, EIGHT},
	 FRAMES_BROKEN},
	/* what a request could be made of */
	{"HEADERS", AT_BODY, {FRAME_HEADERS, 5, 3, EIGHT}, FRAMES_BROKEN},
	{"HEADERS without bytes",
	 AT_ASKED,
	 {FRAME_HEADERS, 5, 1, {0}},
	 FRAMES_BROKEN},
	{"CONTINUATION",
	 AT_BODY,
	 {FRAME_CONTINUATION, 4, 1, EIGHT},
	 FRAMES_BROKEN},
	{"DATA", AT_BODY, {FRAME_DATA, 0, 1, EIGHT}, FRAMES_BROKEN},
	{"PRIORITY", AT_BODY, {2, 0, 1, BYTES_LITERAL("12345")}, FRAMES_BROKEN},
	{"PUSH_PROMISE", AT_BODY, {5, 4, 1, EIGHT}, FRAMES_BROKEN},
	{"a type of nobody's", AT_BODY, {0x42, 0, 1, EIGHT}, FRAMES_BROKEN},
	{"a frame of the courier's",
	 AT_BODY,
	 {FRAME_WIRE, 0, 1, EIGHT},
	 FRAMES_BROKEN},
	/* the head */
	{"the head", AT_ASKED, {FRAME_HEAD, 0, 1, {0}}, FRAMES_HEAD},
	{"the head again", AT_BODY, {FRAME_HEAD, 0, 1, {0}}, FRAMES_BROKEN},
	{"a head of nothing", AT_IDLE, {FRAME_HEAD, 0, 1, {0}}, FRAMES_BROKEN},
	{"a head with bytes",
	 AT_ASKED,
	 {FRAME_HEAD, 0, 1, FOUR},
	 FRAMES_BROKEN},
	{"another one's head",
	 AT_ASKED,
	 {FRAME_HEAD, 0, 3, {0}},
	 FRAMES_BROKEN},
	/* the body */
	{"a byte", AT_BODY, {FRAME_BODY, 0, 1, FOUR}, FRAMES_BODY},
	{"none at all",
	 AT_BODY,
	 {FRAME_BODY, 0, 1, BYTES_LITERAL("\0\0\0\0")},
	 FRAMES_BODY},
	{"more than there is",
	 AT_BODY,
	 {FRAME_BODY, 0, 1, BYTES_LITERAL("\0\0\0\3")},
	 FRAMES_BROKEN},
	{"more than a frame holds",
	 AT_BODY,
	 {FRAME_BODY, 0, 1, BYTES_LITERAL("\1\0\0\0")},
	 FRAMES_BROKEN},
	{"an end that is not its end",
	 AT_BODY,
	 {FRAME_BODY, 1, 1, BYTES_LITERAL("\0\0\0\2")},
	 FRAMES_BROKEN},
	{"its end",
	 AT_LAST,
	 {FRAME_BODY, 1, 1, BYTES_LITERAL("\0\0\0\2")},
	 FRAMES_BODY},
	{"an end before its end",
	 AT_LAST,
	 {FRAME_BODY, 1, 1, FOUR},
	 FRAMES_BROKEN},
	{"flags of nobody's",
	 AT_LAST,
	 {FRAME_BODY, 9, 1, BYTES_LITERAL("\0\0\0\2")},
	 FRAMES_BROKEN},
	{"a body before the head",
	 AT_ASKED,
	 {FRAME_BODY, 0, 1, BYTES_LITERAL("\0\0\0\0")},
	 FRAMES_BROKEN},
	{"a body after its end",
	 AT_OVER,
	 {FRAME_BODY, 0, 1, BYTES_LITERAL("\0\0\0\0")},
	 FRAMES_BROKEN},
	{"a body of what has none",
	 AT_THIRD,
	 {FRAME_BODY, 1, 3, BYTES_LITERAL("\0\0\0\0")},
	 FRAMES_BROKEN},
	/* the response */
	{"a response", AT_BODY, {FRAME_SAID, 0, 1, EIGHT}, FRAMES_SAID},
	{"one before the request",
	 AT_ASKED,
	 {FRAME_SAID, 0, 1, EIGHT},
	 FRAMES_BROKEN},
	{"one of nothing", AT_IDLE, {FRAME_SAID, 0, 0, EIGHT}, FRAMES_BROKEN},
	{"one after its end",
	 AT_OVER,
	 {FRAME_SAID, 0, 1, EIGHT},
	 FRAMES_BROKEN},
	{"one of the request before",
	 AT_THIRD,
	 {FRAME_SAID, 0, 1, EIGHT},
	 FRAMES_BROKEN},
	{"an empty one", AT_BODY, {FRAME_SAID, 0, 1, {0}}, FRAMES_BROKEN},
	{"its end", AT_BODY, {FRAME_OVER, 0, 1, {0}}, FRAMES_OVER},
	{"its end before the request",
	 AT_ASKED,
	 {FRAME_OVER, 0, 1, {0}},
	 FRAMES_BROKEN},
	{"its end again", AT_OVER, {FRAME_OVER, 0, 1, {0}}, FRAMES_BROKEN},
	{"the end of the one before",
	 AT_THIRD,
	 {FRAME_OVER, 0, 1, {0}},
	 FRAMES_IGNORE},
	{"a fault",
	 AT_ASKED,
	 {FRAME_FAULT, 0, 1, BYTES_LITERAL("\1")},
	 FRAMES_FAULT},
	{"a fault of nobody's",
	 AT_ASKED,
	 {FRAME_FAULT, 0, 1, BYTES_LITERAL("\2")},
	 FRAMES_BROKEN},
	{"a fault with words",
	 AT_ASKED,
	 {FRAME_FAULT, 0, 1, FOUR},
	 FRAMES_BROKEN},
	{"a fault of the one before",
	 AT_THIRD,
	 {FRAME_FAULT, 0, 1, BYTES_LITERAL("\0")},
	 FRAMES_IGNORE},
};

static void of_what_a_framer_says_passes_what_may(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frames frames = frames_at(cases[i].at);

		if (say(&frames, &cases[i].frame) != cases[i].step)
			fail_msg("%s", cases[i].what);
	}
}

static void a_part_of_a_frame_waits_for_the_rest(void **state)
{
	struct frames frames = frames_at(AT_BODY);
	auto_type(buf_release) struct buf bytes;
	struct frame read;
	size_t used;

	(void)state;
	buf_init(&bytes, 64);
	assert_int_equal(
		frame_add(&bytes, &(struct frame){FRAME_SAID, 0, 1, EIGHT}), 0);
	for (size_t len = 0; len < buf_len(&bytes); len++)
		assert_int_equal(
			frames_next(&frames,
				    bytes_slice(buf_view(&bytes), 0, len),
				    &read, &used),
			FRAMES_MORE);
	assert_int_equal(frames_next(&frames, buf_view(&bytes), &read, &used),
			 FRAMES_SAID);
	assert_int_equal(used, buf_len(&bytes));
}

static void streams_end_where_their_numbers_do(void **state)
{
	struct frames frames = {.stream = FRAME_STREAM_MAX - 2};

	(void)state;
	assert_int_equal(frames_ask(&frames, false), 0);
	assert_int_equal(frames.stream, FRAME_STREAM_MAX);
	assert_int_equal(frames_ask(&frames, false), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_what_a_framer_says_passes_what_may),
		cmocka_unit_test(a_part_of_a_frame_waits_for_the_rest),
		cmocka_unit_test(streams_end_where_their_numbers_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
