#include "gateway/flow/frames.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/cleanup.h"

static void a_frame_is_read_as_it_was_written(void **state)
{
	static const uint8_t bytes[] = {0, 0, 3,    FRAME_SAID, 1,   0x7f,
					1, 2, 0xff, 'a',	'b', 'c'};
	const struct frame frame = {
		.type = FRAME_SAID,
		.flags = 1,
		.stream = 0x7f0102ff,
		.payload = bytes_str("abc"),
	};
	auto_type(buf_release) struct buf out;
	struct frame read;
	size_t used;

	(void)state;
	buf_init(&out, 64);
	assert_int_equal(frame_add(&out, &frame), 0);
	assert_true(
		bytes_equal(buf_view(&out), bytes_from(bytes, sizeof(bytes))));
	for (size_t len = 0; len < sizeof(bytes); len++)
		assert_int_equal(
			frame_next(bytes_from(bytes, len), &read, &used), 0);
	assert_int_equal(frame_next(buf_view(&out), &read, &used), 1);
	assert_int_equal(used, sizeof(bytes));
	assert_int_equal(read.type, frame.type);
	assert_int_equal(read.flags, frame.flags);
	assert_int_equal(read.stream, frame.stream);
	assert_true(bytes_is(read.payload, "abc"));
}

static void a_number_is_big_endian(void **state)
{
	const struct frame frame = {.type = FRAME_MORE};
	auto_type(buf_release) struct buf out;
	struct frame read;
	size_t used;

	(void)state;
	buf_init(&out, 64);
	assert_int_equal(frame_add_u32(&out, &frame, 0x80000001), 0);
	assert_int_equal(frame_next(buf_view(&out), &read, &used), 1);
	assert_int_equal(read.payload.len, 4);
	assert_int_equal(read.payload.data[0], 0x80);
	assert_int_equal(frame_u32(read.payload), 0x80000001);
}

static void a_frame_that_is_too_long_is_none(void **state)
{
	static const uint8_t zeros[FRAME_PAYLOAD_MAX + 1];
	static const uint8_t longest[FRAME_HEADER] = {0, 0x40, 0};
	static const uint8_t longer[FRAME_HEADER] = {0, 0x40, 1};
	struct frame frame = {
		.payload = bytes_from(zeros, FRAME_PAYLOAD_MAX + 1),
	};
	auto_type(buf_release) struct buf out;
	struct frame read;
	size_t used;

	(void)state;
	buf_init(&out, 2 * FRAME_PAYLOAD_MAX);
	assert_int_equal(frame_add(&out, &frame), -1);
	frame.payload.len--;
	assert_int_equal(frame_add(&out, &frame), 0);
	assert_int_equal(
		frame_next(bytes_from(longest, FRAME_HEADER), &read, &used), 0);
	assert_int_equal(
		frame_next(bytes_from(longer, FRAME_HEADER), &read, &used), -1);
}

static void a_frame_that_has_no_room_changes_nothing(void **state)
{
	const struct frame frame = {.payload = bytes_str("abc")};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, FRAME_HEADER + 2);
	assert_int_equal(frame_add(&out, &frame), -1);
	assert_int_equal(buf_len(&out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_read_as_it_was_written),
		cmocka_unit_test(a_number_is_big_endian),
		cmocka_unit_test(a_frame_that_is_too_long_is_none),
		cmocka_unit_test(a_frame_that_has_no_room_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
