#include "gateway/courier/fields.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/flow/frames.h"

#define START "POST /a.B/C?x=1 HTTP/1.1\r\nHost: a.test:8443\r\n"

/* One string: its length in as many bytes as it takes. */
static struct bytes take_string(struct bytes *block)
{
	size_t len = block->data[0], at = 1, shift = 0;
	struct bytes text;

	/* Nobody's code but its own bytes. */
	assert_true(len <= 0x7f);
	if (len == 0x7f) {
		do {
			len += (size_t)(block->data[at] & 0x7f) << shift;
			shift += 7;
		} while (block->data[at++] & 0x80);
	}
	assert_true(at + len <= block->len);
	text = bytes_slice(*block, at, at + len);
	*block = bytes_slice(*block, at + len, block->len);
	return text;
}

/* The block as lines: there is no table, and every field is never indexed, its
 * name a literal. */
static void read_block(struct bytes block, struct buf *lines)
{
	assert_int_equal(block.data[0], 0x20);
	block = bytes_slice(block, 1, block.len);
	while (block.len > 0) {
		struct bytes name, value;

		assert_int_equal(block.data[0], 0x10);
		block = bytes_slice(block, 1, block.len);
		name = take_string(&block);
		value = take_string(&block);
		assert_int_equal(buf_add_format(lines, "%.*s=%.*s\n",
						BYTES_ARGS(name),
						BYTES_ARGS(value)),
				 0);
	}
}

/* The frames' payloads, one after the other; how many there were. */
static unsigned read_frames(struct buf *out, bool is_end, struct buf *block)
{
	struct frame frame;
	unsigned count = 0;
	size_t used;

	while (frame_next(buf_view(out), &frame, &used) > 0) {
		bool is_last = used == buf_len(out);
		unsigned flags = (is_last ? FRAME_FLAG_HEAD : 0) |
				 (!count && is_end ? FRAME_FLAG_END : 0);

		assert_int_equal(frame.type,
				 count ? FRAME_CONTINUATION : FRAME_HEADERS);
		assert_int_equal(frame.flags, flags);
		assert_int_equal(frame.stream, 5);
		assert_int_equal(buf_add(block, frame.payload), 0);
		buf_consume(out, used);
		count++;
	}
	assert_int_equal(buf_len(out), 0);
	return count;
}

static void assert_written(const char *head, bool is_end, const char *wanted)
{
	auto_type(buf_release) struct buf out, block, lines;

	buf_init(&out, 1 << 20);
	buf_init(&block, 1 << 20);
	buf_init(&lines, 1 << 20);
	assert_int_equal(fields_write(&out, bytes_str(head), 5, is_end), 0);
	assert_true(buf_len(&out) <= fields_bytes_max(strlen(head)));
	assert_int_equal(read_frames(&out, is_end, &block), 1);
	read_block(buf_view(&block), &lines);
	assert_string_equal(buf_str(&lines), wanted);
}

static void a_head_is_the_same_in_http2(void **state)
{
	(void)state;
	assert_written(START "Content-Type: application/grpc\r\n"
			     "Authorization: Bearer t: x\r\n"
			     "X-Empty: \r\nContent-Length: 7\r\n\r\n",
		       false,
		       ":method=POST\n:scheme=https\n:authority=a.test:8443\n"
		       ":path=/a.B/C?x=1\ncontent-type=application/grpc\n"
		       "authorization=Bearer t: x\nx-empty=\n"
		       "content-length=7\nte=trailers\n");
}

static void what_is_http_1s_alone_is_left_out(void **state)
{
	(void)state;
	assert_written(START "Connection: close\r\n"
			     "transfer-encoding: chunked\r\n\r\n",
		       true,
		       ":method=POST\n:scheme=https\n:authority=a.test:8443\n"
		       ":path=/a.B/C?x=1\nte=trailers\n");
}

static void lengths_take_as_many_bytes_as_they_need(void **state)
{
	static const size_t lengths[] = {0,   1,   126,	 127,	128,  254,
					 255, 256, 4000, 16510, 20000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		auto_type(buf_release) struct buf head, out, block, lines;
		unsigned count;

		buf_init(&head, 1 << 20);
		buf_init(&out, 1 << 20);
		buf_init(&block, 1 << 20);
		buf_init(&lines, 1 << 20);
		(void)buf_add_str(&head, START "X: ");
		for (size_t j = 0; j < lengths[i]; j++)
			(void)buf_add_byte(&head, 'a');
		(void)buf_add_str(&head, "\r\n\r\n");
		assert_int_equal(fields_write(&out, buf_view(&head), 5, false),
				 0);
		count = read_frames(&out, false, &block);
		assert_int_equal(count,
				 1 + (buf_len(&block) - 1) / FRAME_PAYLOAD_MAX);
		read_block(buf_view(&block), &lines);
		/* Four lines before it, and one behind. */
		assert_int_equal(
			buf_len(&lines),
			sizeof(":method=POST\n:scheme=https\n"
			       ":authority=a.test:8443\n:path=/a.B/C?x=1\n"
			       "x=\nte=trailers\n") -
				1 + lengths[i]);
	}
}

static void the_most_that_a_head_needs_is_known(void **state)
{
	auto_type(buf_release) struct buf head, out;

	(void)state;
	buf_init(&head, 1 << 20);
	buf_init(&out, 1 << 20);
	(void)buf_add_str(&head, "GET / HTTP/1.1\r\nHost: a\r\n");
	for (unsigned i = 0; i < 256; i++)
		(void)buf_add_str(&head, "X: \r\n");
	(void)buf_add_str(&head, "\r\n");
	assert_int_equal(fields_write(&out, buf_view(&head), 5, true), 0);
	assert_true(buf_len(&out) <= fields_bytes_max(buf_len(&head)));
}

static void what_is_no_head_is_not_written(void **state)
{
	static const char *const heads[] = {
		"",
		"GET / HTTP/1.1\r\n",
		"GET /\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nX: y\r\nHost: a\r\n\r\n",
		START "no colon\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		auto_type(buf_release) struct buf out;

		buf_init(&out, 1 << 20);
		if (fields_write(&out, bytes_str(heads[i]), 5, true) == 0)
			fail_msg("%s", heads[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_the_same_in_http2),
		cmocka_unit_test(what_is_http_1s_alone_is_left_out),
		cmocka_unit_test(lengths_take_as_many_bytes_as_they_need),
		cmocka_unit_test(the_most_that_a_head_needs_is_known),
		cmocka_unit_test(what_is_no_head_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
