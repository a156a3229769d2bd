#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/websocket/frames.h"

#define MESSAGE_MAX   100000
#define LITERAL(text) bytes_from(text, sizeof(text) - 1)

/* One byte at a time, up to the first thing that is told. */
static enum websocket_result take(struct websocket_end *end, struct bytes all)
{
	enum websocket_result result = WEBSOCKET_MORE;

	for (size_t i = 0; i < all.len && result == WEBSOCKET_MORE; i++) {
		struct bytes input = bytes_slice(all, i, i + 1);

		result = websocket_take(end, &input);
		assert_int_equal(input.len, 0);
	}
	return result;
}

static enum websocket_result
take_from(struct websocket_end *end, enum websocket_side side, struct bytes all)
{
	assert_int_equal(websocket_end_init(end, side, MESSAGE_MAX), 0);
	return take(end, all);
}

static void frames_that_break_the_rfc_are_invalid(void **state)
{
	static const struct {
		struct bytes sent;
		enum websocket_side side;
		uint16_t code;
	} rows[] = {
		{BYTES_LITERAL("\x81\x01x"), WEBSOCKET_CLIENT, 1002},
		{BYTES_LITERAL("\x81\x81"
			       "abcd\0"),
		 WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\xc1\x01x"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x83\x01x"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x8b\x01x"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x80\x01x"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x01\x01x\x81\x01y"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x09\x00"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x89\x7e\x00\x7e"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x81\x7e\x00\x05hello"), WEBSOCKET_SERVER,
		 1002},
		{BYTES_LITERAL("\x81\x01\xff"), WEBSOCKET_SERVER, 1007},
		{BYTES_LITERAL("\x81\x7f\0\0\0\0\0\x01\x86\xa1x"),
		 WEBSOCKET_SERVER, 1009},
		{BYTES_LITERAL("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xffx"),
		 WEBSOCKET_SERVER, 1009},
		{BYTES_LITERAL("\x88\x01\x03"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x88\x02\x03\xed"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x88\x02\x00\x01"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x88\x02\x03\xf7"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x88\x02\x0b\xb7"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x88\x02\x13\x88"), WEBSOCKET_SERVER, 1002},
		{BYTES_LITERAL("\x88\x03\x03\xe8\xff"), WEBSOCKET_SERVER, 1007},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct websocket_end end;

		if (take_from(&end, rows[i].side, rows[i].sent) !=
		    WEBSOCKET_INVALID)
			fail_msg("row %zu is not invalid", i);
		assert_int_equal(end.code, rows[i].code);
		assert_non_null(end.reason);
		websocket_end_release(&end);
	}
}

static void a_message_in_pieces_is_told_whole(void **state)
{
	/* a ping between the pieces; the masks are 0 */
	static const char sent[] = "\x01\x82\0\0\0\0he\x89\x81\0\0\0\0p"
				   "\x00\x81\0\0\0\0l\x80\x82\0\0\0\0lo";
	struct bytes input = LITERAL(sent);
	struct websocket_end end;

	(void)state;
	assert_int_equal(websocket_end_init(&end, WEBSOCKET_CLIENT, 5), 0);
	assert_int_equal(websocket_take(&end, &input), WEBSOCKET_PING);
	assert_true(bytes_is(end.control, "p"));
	assert_int_equal(websocket_take(&end, &input), WEBSOCKET_MESSAGE);
	assert_int_equal(end.opcode, WEBSOCKET_TEXT);
	assert_true(bytes_is(buf_view(&end.message), "hello"));
	assert_int_equal(websocket_take(&end, &input), WEBSOCKET_MORE);
	assert_int_equal(buf_len(&end.message), 0);
	websocket_end_release(&end);
}

static void a_message_in_too_many_pieces_is_refused(void **state)
{
	struct websocket_end end;
	enum websocket_result result = WEBSOCKET_MORE;
	unsigned count = 0;

	(void)state;
	assert_int_equal(websocket_end_init(&end, WEBSOCKET_SERVER, 100), 0);
	result = take(&end, LITERAL("\x01\0"));
	while (result == WEBSOCKET_MORE && count++ < 2000)
		result = take(&end, LITERAL("\0\0"));
	assert_int_equal(result, WEBSOCKET_INVALID);
	assert_int_equal(count, WEBSOCKET_FRAGMENTS_MAX);
	websocket_end_release(&end);
}

static void a_close_tells_its_code_and_reason(void **state)
{
	struct websocket_end end;

	(void)state;
	assert_int_equal(take_from(&end, WEBSOCKET_SERVER,
				   LITERAL("\x88\x05\x0f\xa0why")),
			 WEBSOCKET_CLOSE);
	assert_int_equal(end.code, 4000);
	assert_true(bytes_is(end.control, "why"));
	websocket_end_release(&end);
	assert_int_equal(take_from(&end, WEBSOCKET_SERVER, LITERAL("\x88\0")),
			 WEBSOCKET_CLOSE);
	assert_int_equal(end.code, WEBSOCKET_NO_CODE);
	websocket_end_release(&end);
}

/* What is written for a server is what a server reads, masked anew. */
static void what_is_written_can_be_read(void **state)
{
	static const size_t sizes[] = {0, 1, 125, 126, 4096, 65535, 65536};
	uint8_t *bytes = calloc(1, MESSAGE_MAX);

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		bool is_server = i % 2;
		struct bytes payload = bytes_from(bytes, sizes[i / 2]);
		auto_type(buf_release) struct buf out;
		struct websocket_end from, to;
		struct bytes input;

		buf_init(&out, 2 * MESSAGE_MAX);
		(void)websocket_end_init(
			&from, is_server ? WEBSOCKET_SERVER : WEBSOCKET_CLIENT,
			MESSAGE_MAX);
		(void)websocket_end_init(
			&to, is_server ? WEBSOCKET_CLIENT : WEBSOCKET_SERVER,
			MESSAGE_MAX);
		assert_int_equal(websocket_write(&from, WEBSOCKET_BINARY, true,
						 payload, &out),
				 0);
		input = buf_view(&out);
		assert_int_equal(websocket_take(&to, &input),
				 WEBSOCKET_MESSAGE);
		assert_true(bytes_equal(buf_view(&to.message), payload));
		websocket_end_release(&from);
		websocket_end_release(&to);
	}
	free(bytes);
}

static void a_close_that_is_written_fits_a_frame(void **state)
{
	char reason[200];
	auto_type(buf_release) struct buf out;
	struct websocket_end end;

	(void)state;
	memset(reason, 'x', sizeof(reason));
	memcpy(reason + 122, "\xc3\xa4", 2); /* not cut in the middle */
	buf_init(&out, 1000);
	(void)websocket_end_init(&end, WEBSOCKET_CLIENT, 10);
	assert_int_equal(websocket_write_close(&end, 1008,
					       bytes_from(reason, 200), &out),
			 0);
	assert_int_equal(buf_len(&out), 2 + 2 + 122);
	buf_clear(&out);
	assert_int_equal(websocket_write_close(&end, WEBSOCKET_NO_CODE,
					       bytes_from(NULL, 0), &out),
			 0);
	assert_true(bytes_equal(buf_view(&out), LITERAL("\x88\0")));
	websocket_end_release(&end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_that_break_the_rfc_are_invalid),
		cmocka_unit_test(a_message_in_pieces_is_told_whole),
		cmocka_unit_test(a_message_in_too_many_pieces_is_refused),
		cmocka_unit_test(a_close_tells_its_code_and_reason),
		cmocka_unit_test(what_is_written_can_be_read),
		cmocka_unit_test(a_close_that_is_written_fits_a_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
