/* gzip bodies, and bombs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "gateway/http/inflate.h"

#include <zlib.h>

#define TEXT(literal) bytes_from(literal, sizeof(literal) - 1)
#define OUT_MAX	      (64 * 1024 * 1024)

/* Append len bytes as one gzip member. */
static void add_gzip(struct buf *out, const void *data, size_t len)
{
	z_stream stream = {.avail_in = (uInt)len};
	uint8_t *to = buf_reserve(out, len + 256);

	assert_non_null(to);
	stream.next_in = (Bytef *)(uintptr_t)data;
	stream.next_out = to;
	stream.avail_out = (uInt)len + 256;
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9,
				      Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	buf_commit(out, stream.total_out);
	assert_int_equal(deflateEnd(&stream), Z_OK);
}

/* Decode all of input in pieces; what is left stands in *input. */
static enum inflate_result run(struct inflater *inflater, struct bytes *input,
			       size_t step, struct buf *out, struct err *err)
{
	enum inflate_result result = INFLATE_MORE;

	for (;;) {
		struct bytes piece = bytes_slice(*input, 0, step);
		size_t before = piece.len, made;
		uint8_t room[100];

		result = inflater_step(inflater, &piece, room, sizeof(room),
				       &made, err);
		*input = bytes_slice(*input, before - piece.len, input->len);
		assert_true(made <= sizeof(room));
		if (buf_room(out) >= made)
			assert_int_equal(buf_add(out, bytes_from(room, made)),
					 0);
		if (result != INFLATE_MORE ||
		    (input->len == 0 && made < sizeof(room)))
			return result;
	}
}

static void inflater_decodes_gzip_however_it_arrives(void **state)
{
	static const size_t steps[] = {1, 13, 4096};
	static const char *const codings[] = {"gzip", "x-gzip", "GZIP"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		auto_type(buf_release) struct buf packed, out;
		struct inflater *inflater;
		struct bytes input;

		buf_init(&packed, 4096);
		buf_init(&out, 4096);
		add_gzip(&packed, "0000hello hello hello", 21);
		assert_int_equal(buf_add_str(&packed, "X"), 0);
		inflater = inflater_new(bytes_str(codings[i]), 21, &err);
		assert_non_null(inflater);
		assert_false(inflater_may_end(inflater));
		input = buf_view(&packed);
		assert_int_equal(run(inflater, &input, steps[i], &out, &err),
				 INFLATE_END);
		assert_true(bytes_is(input, "X"));
		assert_true(bytes_is(buf_view(&out), "0000hello hello hello"));
		assert_true(inflater_may_end(inflater));
		inflater_free(inflater);
	}
}

static void inflater_passes_identity(void **state)
{
	static const char *const codings[] = {"", "identity"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codings); i++) {
		auto_type(buf_release) struct buf out;
		struct bytes input = TEXT("hello");
		struct inflater *inflater =
			inflater_new(bytes_str(codings[i]), 5, &err);

		buf_init(&out, 64);
		assert_int_equal(run(inflater, &input, 2, &out, &err),
				 INFLATE_MORE);
		assert_true(bytes_is(buf_view(&out), "hello"));
		assert_true(inflater_may_end(inflater));
		input = TEXT("!");
		assert_int_equal(run(inflater, &input, 2, &out, &err),
				 INFLATE_INVALID);
		assert_int_equal(err.code, ERR_TOO_LARGE);
		inflater_free(inflater);
	}
}

static void inflater_knows_no_other_coding(void **state)
{
	static const char *const codings[] = {"deflate", "br", "gzip, gzip",
					      "zstd", "gzip;q=1"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codings); i++) {
		assert_null(inflater_new(bytes_str(codings[i]), 5, &err));
		assert_int_equal(err.code, ERR_UNSUPPORTED);
	}
}

static void inflater_refuses_what_is_damaged(void **state)
{
	auto_type(buf_release) struct buf packed, out;
	struct err err;

	(void)state;
	buf_init(&packed, 4096);
	buf_init(&out, 4096);
	add_gzip(&packed, "hello", 5);
	for (size_t i = 0; i < 2; i++) {
		struct inflater *inflater =
			inflater_new(TEXT("gzip"), 100, &err);
		/* A wrong magic, then a wrong check sum. */
		size_t at = i ? buf_len(&packed) - 6 : 0;
		struct bytes input = buf_view(&packed);

		packed.data[packed.start + at] ^= 1;
		assert_int_equal(run(inflater, &input, 5, &out, &err),
				 INFLATE_INVALID);
		assert_int_equal(err.code, ERR_INVALID);
		packed.data[packed.start + at] ^= 1;
		inflater_free(inflater);
	}
}

static void inflater_says_when_it_was_cut_short(void **state)
{
	auto_type(buf_release) struct buf packed, out;
	struct inflater *inflater;
	struct bytes input;
	struct err err;

	(void)state;
	buf_init(&packed, 4096);
	buf_init(&out, 4096);
	add_gzip(&packed, "hello", 5);
	inflater = inflater_new(TEXT("gzip"), 100, &err);
	input = bytes_slice(buf_view(&packed), 0, buf_len(&packed) - 1);
	assert_int_equal(run(inflater, &input, 5, &out, &err), INFLATE_MORE);
	assert_false(inflater_may_end(inflater));
	inflater_free(inflater);
}

static void check_bomb(size_t bytes, uint64_t output_max,
		       enum inflate_result result)
{
	auto_type(buf_release) struct buf packed, out;
	auto_free uint8_t *zeros = calloc(1, bytes);
	struct inflater *inflater;
	struct bytes input;
	struct err err;

	assert_non_null(zeros);
	buf_init(&packed, OUT_MAX);
	buf_init(&out, 0);
	add_gzip(&packed, zeros, bytes);
	inflater = inflater_new(TEXT("gzip"), output_max, &err);
	input = buf_view(&packed);
	assert_int_equal(run(inflater, &input, 4096, &out, &err), result);
	if (result == INFLATE_INVALID)
		assert_int_equal(err.code, ERR_TOO_LARGE);
	inflater_free(inflater);
}

static void inflater_stops_bombs(void **state)
{
	(void)state;
	check_bomb(1000, 999, INFLATE_INVALID);
	check_bomb(1000, 1000, INFLATE_END);
	check_bomb(INFLATE_FREE_BYTES, OUT_MAX, INFLATE_END);
	check_bomb(INFLATE_FREE_BYTES * 4, OUT_MAX, INFLATE_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inflater_decodes_gzip_however_it_arrives),
		cmocka_unit_test(inflater_passes_identity),
		cmocka_unit_test(inflater_knows_no_other_coding),
		cmocka_unit_test(inflater_refuses_what_is_damaged),
		cmocka_unit_test(inflater_says_when_it_was_cut_short),
		cmocka_unit_test(inflater_stops_bombs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
