/*
 * A connection of the framer. The test plays the courier, and upstream behind
 * it.
 */
#include "gateway/framer/framer.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/io_fake.h"

#define SETTINGS "\0\0\0\4\0\0\0\0\0"
#define ACK	 "\0\0\0\4\1\0\0\0\0"
/* :status 200, the whole of a head; and of a response. */
#define HEADERS(stream)	    "\0\0\1\1\4\0\0\0" stream "\x88"
#define HEADERS_END(stream) "\0\0\1\1\5\0\0\0" stream "\x88"
#define TEXT_200	    "HTTP/1.1 200 \r\n"
#define CHUNKED		    TEXT_200 "Transfer-Encoding: chunked\r\n\r\n"

struct rig {
	struct io_loop *loop;
	struct keeper keeper;
	struct framer framer;
	int fd; /* the courier's */
	struct buf heard;
};

static void tell(struct rig *rig, enum frame_type type, uint32_t stream,
		 struct bytes payload)
{
	const struct frame frame = {(uint8_t)type, 0, stream, payload};
	auto_type(buf_release) struct buf out;

	buf_init(&out, 2 * FRAME_PAYLOAD_MAX);
	assert_int_equal(frame_add(&out, &frame), 0);
	fake_send(rig->fd, buf_view(&out));
	fake_run(rig->loop);
}

static void count(struct rig *rig, enum frame_type type, uint32_t stream,
		  uint32_t number)
{
	const struct frame frame = {(uint8_t)type, 0, stream, {0}};
	auto_type(buf_release) struct buf out;

	buf_init(&out, 64);
	assert_int_equal(frame_add_u32(&out, &frame, number), 0);
	fake_send(rig->fd, buf_view(&out));
	fake_run(rig->loop);
}

#define upstream_says(rig, text)                                               \
	tell(rig, FRAME_WIRE, 0, bytes_from(text, sizeof(text) - 1))

static void ask(struct rig *rig, uint32_t stream, uint8_t how)
{
	tell(rig, FRAME_ASK, stream, bytes_from(&how, 1));
}

/* The next frame of such a type; others are left out. False: there is none.
 * Its payload is valid until the next call. */
static bool next_of(struct rig *rig, enum frame_type type, struct frame *frame)
{
	struct buf *got = fake_received(rig->fd);
	size_t used;

	while (frame_next(buf_view(got), frame, &used) > 0) {
		buf_clear(&rig->heard);
		(void)buf_add(&rig->heard, frame->payload);
		frame->payload = buf_view(&rig->heard);
		buf_consume(got, used);
		if (frame->type == type)
			return true;
	}
	return false;
}

static void assert_said(struct rig *rig, uint32_t stream, const char *text)
{
	struct frame frame;

	assert_true(next_of(rig, FRAME_SAID, &frame));
	assert_int_equal(frame.stream, stream);
	if (!bytes_is(frame.payload, text))
		fail_msg("said: %.*s", BYTES_ARGS(frame.payload));
}

static void assert_fault(struct rig *rig, enum frame_fault fault)
{
	struct frame frame;

	assert_true(next_of(rig, FRAME_FAULT, &frame));
	assert_int_equal(frame.payload.data[0], fault);
}

static void set_up(struct rig *rig)
{
	struct err err;
	int fds[2];

	*rig = (struct rig){.loop = io_loop_new(&err)};
	rig->keeper.loop = rig->loop;
	rig->framer.keeper = &rig->keeper;
	buf_init(&rig->heard, FRAME_PAYLOAD_MAX);
	fake_stream_pair(fds);
	rig->fd = fds[1];
	assert_int_equal(connection_open(&rig->framer, fds[0], &err), 0);
	fake_run(rig->loop);
}

static void tear_down(struct rig *rig)
{
	fake_end(rig->fd);
	fake_run(rig->loop);
	fake_advance(rig->loop, 60000);
	assert_int_equal(rig->framer.count, 0);
	assert_int_equal(rig->framer.wide_count, 0);
	io_loop_free(rig->loop);
	buf_release(&rig->heard);
	fake_reset_all();
}

/* It was asked for something, and upstream has said its SETTINGS. */
static void start(struct rig *rig, uint8_t how)
{
	struct frame frame;

	set_up(rig);
	ask(rig, 1, how);
	assert_true(next_of(rig, FRAME_HEAD, &frame));
	assert_int_equal(frame.stream, 1);
	upstream_says(rig, SETTINGS);
}

/* ---- the request ---- */

static void settings_come_first_and_are_acknowledged(void **state)
{
	struct frame frame;
	struct rig rig;

	(void)state;
	set_up(&rig);
	assert_true(next_of(&rig, FRAME_SETTINGS, &frame));
	assert_int_equal(frame.flags, 0);
	assert_int_equal(frame.payload.len % 6, 0);
	assert_true(next_of(&rig, FRAME_WINDOW_UPDATE, &frame));
	upstream_says(&rig, SETTINGS);
	assert_true(next_of(&rig, FRAME_SETTINGS, &frame));
	assert_int_equal(frame.flags, FRAME_FLAG_END);
	upstream_says(&rig, "\0\0\10\6\0\0\0\0\0"
			    "12345678");
	assert_true(next_of(&rig, FRAME_PING, &frame));
	assert_int_equal(frame.flags, FRAME_FLAG_END);
	assert_true(bytes_is(frame.payload, "12345678"));
	tear_down(&rig);
}

static void a_body_is_counted_as_windows_allow(void **state)
{
	struct frame frame;
	struct rig rig;
	size_t sum = 0;

	(void)state;
	start(&rig, ASK_HAS_BODY);
	assert_false(next_of(&rig, FRAME_BODY, &frame));
	count(&rig, FRAME_MORE, 1, 100000);
	while (next_of(&rig, FRAME_BODY, &frame)) {
		assert_int_equal(frame.flags, 0);
		assert_in_range(frame_u32(frame.payload), 1, 16384);
		sum += frame_u32(frame.payload);
	}
	assert_int_equal(sum, 65535);
	/* 34,465 more on the connection, and on the stream. */
	upstream_says(&rig, "\0\0\4\10\0\0\0\0\0\0\1\0\0");
	upstream_says(&rig, "\0\0\4\10\0\0\0\0\1\0\1\0\0");
	tell(&rig, FRAME_LAST, 1, bytes_from(NULL, 0));
	while (next_of(&rig, FRAME_BODY, &frame)) {
		sum += frame_u32(frame.payload);
		if (frame.flags)
			break;
	}
	assert_int_equal(sum, 100000);
	assert_int_equal(frame.flags, FRAME_FLAG_END);
	tear_down(&rig);
}

static void a_request_without_a_body_has_none(void **state)
{
	struct frame frame;
	struct rig rig;

	(void)state;
	start(&rig, 0);
	tell(&rig, FRAME_LAST, 1, bytes_from(NULL, 0));
	assert_false(next_of(&rig, FRAME_BODY, &frame));
	tear_down(&rig);
}

/* ---- the response ---- */

static void a_response_comes_as_http1(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, 0);
	upstream_says(&rig, HEADERS("\1"));
	assert_said(&rig, 1, CHUNKED);
	upstream_says(&rig, "\0\0\3\0\0\0\0\0\1"
			    "abc");
	assert_said(&rig, 1, "3\r\nabc\r\n");
	tear_down(&rig);
}

static void trailers_of_grpc_come_behind_it(void **state)
{
	struct frame frame;
	struct rig rig;

	(void)state;
	start(&rig, 0);
	upstream_says(&rig, HEADERS("\1"));
	upstream_says(&rig, "\0\0\17\1\5\0\0\0\1"
			    "\0\13grpc-status\1"
			    "0");
	assert_said(&rig, 1, CHUNKED);
	assert_said(&rig, 1, "0\r\ngrpc-status: 0\r\n\r\n");
	assert_true(next_of(&rig, FRAME_OVER, &frame));
	tear_down(&rig);
}

static void requests_follow_each_other(void **state)
{
	struct frame frame;
	struct rig rig;

	(void)state;
	start(&rig, 0);
	upstream_says(&rig, HEADERS_END("\1"));
	assert_said(&rig, 1, TEXT_200 "Content-Length: 0\r\n\r\n");
	assert_true(next_of(&rig, FRAME_OVER, &frame));
	ask(&rig, 3, ASK_IS_HEAD);
	assert_true(next_of(&rig, FRAME_HEAD, &frame));
	assert_int_equal(frame.stream, 3);
	/* Of HEAD: a length, and no body. */
	upstream_says(&rig, "\0\0\4\1\5\0\0\0\3"
			    "\x88\x5c\1"
			    "7");
	assert_said(&rig, 3, TEXT_200 "content-length: 7\r\n\r\n");
	assert_true(next_of(&rig, FRAME_OVER, &frame));
	assert_int_equal(frame.stream, 3);
	tear_down(&rig);
}

/* How much of the response was said. */
static size_t sum_said(struct rig *rig)
{
	struct frame frame;
	size_t sum = 0;

	while (next_of(rig, FRAME_SAID, &frame))
		sum += frame.payload.len;
	return sum;
}

static void what_is_not_taken_is_not_said(void **state)
{
	static const uint8_t data[FRAME_PAYLOAD_MAX];
	struct rig rig;
	size_t said;

	(void)state;
	start(&rig, 0);
	upstream_says(&rig, HEADERS("\1"));
	for (unsigned i = 0; i < 30; i++) {
		upstream_says(&rig, "\0\x3f\xf0\0\0\0\0\0\1");
		tell(&rig, FRAME_WIRE, 0, bytes_from(data, 0x3ff0));
	}
	said = sum_said(&rig);
	assert_int_equal(said, FRAMES_SAID_MAX);
	count(&rig, FRAME_TAKEN, 1, 1000);
	assert_int_equal(sum_said(&rig), 1000);
	count(&rig, FRAME_TAKEN, 1, FRAMES_SAID_MAX);
	assert_int_equal(sum_said(&rig) + said + 1000,
			 sizeof(CHUNKED) - 1 + 30 * (0x3ff0 + 8));
	tear_down(&rig);
}

static void a_response_that_was_complete_is_said_after_its_end(void **state)
{
	static const uint8_t data[FRAME_PAYLOAD_MAX];
	struct frame frame;
	struct rig rig;

	(void)state;
	start(&rig, 0);
	upstream_says(&rig, HEADERS("\1"));
	for (unsigned i = 0; i < 20; i++) {
		upstream_says(&rig, "\0\x3f\xf0\0\0\0\0\0\1");
		tell(&rig, FRAME_WIRE, 0, bytes_from(data, 0x3ff0));
	}
	upstream_says(&rig, "\0\0\0\0\1\0\0\0\1");
	tell(&rig, FRAME_EOF, 0, bytes_from(NULL, 0));
	assert_int_equal(sum_said(&rig), FRAMES_SAID_MAX);
	assert_false(fake_is_ended(rig.fd));
	count(&rig, FRAME_TAKEN, 1, FRAMES_SAID_MAX);
	for (unsigned i = 0; i < 6; i++)
		if (next_of(&rig, FRAME_OVER, &frame))
			break;
	assert_int_equal(frame.type, FRAME_OVER);
	assert_true(fake_is_ended(rig.fd));
	tear_down(&rig);
}

/* ---- what goes wrong ---- */

static void a_reset_is_a_fault(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, 0);
	upstream_says(&rig, HEADERS("\1"));
	upstream_says(&rig, "\0\0\4\3\0\0\0\0\1\0\0\0\2");
	assert_said(&rig, 1, CHUNKED);
	assert_fault(&rig, FAULT_CLOSED);
	tear_down(&rig);
}

static void an_end_before_the_end_is_a_fault(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, 0);
	tell(&rig, FRAME_EOF, 0, bytes_from(NULL, 0));
	assert_fault(&rig, FAULT_CLOSED);
	assert_true(fake_is_ended(rig.fd));
	tear_down(&rig);
}

static void a_response_that_is_not_strict_is_a_fault(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, 0);
	/* A field in capitals. */
	upstream_says(&rig, "\0\0\6\1\5\0\0\0\1"
			    "\x88\0\1X\1y");
	assert_fault(&rig, FAULT_MALFORMED);
	tear_down(&rig);
	start(&rig, 0);
	/* One with a line's end in it. */
	upstream_says(&rig, "\0\0\6\1\5\0\0\0\1"
			    "\x88\0\1x\1\n");
	assert_fault(&rig, FAULT_MALFORMED);
	tear_down(&rig);
}

static void what_is_no_http2_ends_all(void **state)
{
	static const struct {
		const char *what;
		struct bytes bytes;
	} cases[] = {
		{"HTTP/1.1", BYTES_LITERAL("HTTP/1.1 400 Bad Request\r\n\r\n")},
		{"a push", BYTES_LITERAL(SETTINGS ACK "\0\0\5\5\4\0\0\0\1"
						      "\0\0\0\2\x82")},
		{"a stream of upstream's",
		 BYTES_LITERAL(SETTINGS "\0\0\1\1\5\0\0\0\2\x88")},
		{"a window of nothing",
		 BYTES_LITERAL(SETTINGS "\0\0\4\10\0\0\0\0\0\0\0\0\0")},
		{"a window too large",
		 BYTES_LITERAL(SETTINGS "\0\0\4\10\0\0\0\0\0\x7f\xff\xff\xff")},
		{"bad SETTINGS",
		 BYTES_LITERAL("\0\0\6\4\0\0\0\0\0\0\4\xff\xff\xff\xff")},
		{"a long frame",
		 BYTES_LITERAL(SETTINGS "\xff\0\0\0\0\0\0\0\1")},
		{"bytes that are no fields",
		 BYTES_LITERAL(SETTINGS "\0\0\1\1\5\0\0\0\1\xff")},
		{"the end", BYTES_LITERAL(SETTINGS "\0\0\10\7\0\0\0\0\0"
						   "\0\0\0\0\0\0\0\0")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame frame;
		struct rig rig;

		set_up(&rig);
		ask(&rig, 1, 0);
		tell(&rig, FRAME_WIRE, 0, cases[i].bytes);
		if (!next_of(&rig, FRAME_FAULT, &frame) ||
		    !fake_is_ended(rig.fd))
			fail_msg("%s", cases[i].what);
		tear_down(&rig);
	}
}

static void a_flood_ends_the_connection(void **state)
{
	struct frame frame;
	struct rig rig;

	(void)state;
	start(&rig, 0);
	for (unsigned i = 0; i < H2_FRAMES_MAX && !fake_is_ended(rig.fd); i++)
		upstream_says(&rig, "\0\0\10\6\0\0\0\0\0"
				    "12345678");
	assert_true(fake_is_ended(rig.fd));
	assert_true(next_of(&rig, FRAME_GOAWAY, &frame));
	/* ENHANCE_YOUR_CALM */
	assert_int_equal(frame.payload.data[7], 0xb);
	tear_down(&rig);
}

static void a_connection_that_takes_no_more_says_so(void **state)
{
	struct frame frame;
	struct rig rig;

	(void)state;
	start(&rig, 0);
	/* GOAWAY, which lets the first one be answered. */
	upstream_says(&rig, "\0\0\10\7\0\0\0\0\0"
			    "\0\0\0\1\0\0\0\0");
	upstream_says(&rig, HEADERS_END("\1"));
	assert_true(next_of(&rig, FRAME_OVER, &frame));
	assert_true(fake_is_ended(rig.fd));
	tear_down(&rig);
}

static void what_no_courier_says_ends_the_connection(void **state)
{
	static const struct frame frames[] = {
		{FRAME_ASK, 0, 1, {0}},
		{FRAME_MORE, 0, 1, BYTES_LITERAL("12")},
		{FRAME_TAKEN, 0, 1, BYTES_LITERAL("12345")},
		{FRAME_SAID, 0, 1, {0}},
		{FRAME_PING, 0, 0, BYTES_LITERAL("12345678")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct rig rig;

		set_up(&rig);
		tell(&rig, (enum frame_type)frames[i].type, frames[i].stream,
		     frames[i].payload);
		assert_true(fake_is_ended(rig.fd));
		tear_down(&rig);
	}
}

static void many_connections_are_bounded(void **state)
{
	struct rig rig;
	struct err err;
	int fds[2];

	(void)state;
	set_up(&rig);
	for (unsigned i = 1; i < 2 * H2_WIDE_STREAMS_MAX; i++) {
		fake_stream_pair(fds);
		assert_int_equal(connection_open(&rig.framer, fds[0], &err), 0);
		fake_end(fds[1]);
	}
	assert_int_equal(rig.framer.wide_count, H2_WIDE_STREAMS_MAX);
	rig.framer.count += FRAMER_CONNECTIONS_MAX;
	fake_stream_pair(fds);
	assert_int_equal(connection_open(&rig.framer, fds[0], &err), -1);
	rig.framer.count -= FRAMER_CONNECTIONS_MAX;
	tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_come_first_and_are_acknowledged),
		cmocka_unit_test(a_body_is_counted_as_windows_allow),
		cmocka_unit_test(a_request_without_a_body_has_none),
		cmocka_unit_test(a_response_comes_as_http1),
		cmocka_unit_test(trailers_of_grpc_come_behind_it),
		cmocka_unit_test(requests_follow_each_other),
		cmocka_unit_test(what_is_not_taken_is_not_said),
		cmocka_unit_test(
			a_response_that_was_complete_is_said_after_its_end),
		cmocka_unit_test(a_reset_is_a_fault),
		cmocka_unit_test(an_end_before_the_end_is_a_fault),
		cmocka_unit_test(a_response_that_is_not_strict_is_a_fault),
		cmocka_unit_test(what_is_no_http2_ends_all),
		cmocka_unit_test(a_flood_ends_the_connection),
		cmocka_unit_test(a_connection_that_takes_no_more_says_so),
		cmocka_unit_test(what_no_courier_says_ends_the_connection),
		cmocka_unit_test(many_connections_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
