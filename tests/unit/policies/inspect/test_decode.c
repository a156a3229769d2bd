#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zlib.h>
#include <zstd.h>

#include "common/cleanup.h"
#include "policies/inspect/decode.h"
#include "policies/inspect/inspection.h"

#define MIB ((size_t)1024 * 1024)

static const char text[] = "{\"a\":1}";
#define TEXT ((struct bytes){(const uint8_t *)text, sizeof(text) - 1})

/* What `brotli` makes of the text above, and of 1,000,000 zeros. */
static const struct bytes brotli_text =
	BYTES_LITERAL("\x0b\x03\x80\x7b\x22\x61\x22\x3a\x31\x7d\x03");
static const struct bytes brotli_zeros = BYTES_LITERAL(
	"\x5b\x3f\x42\x8f\x5f\x02\x26\x1e\x0b\x04\xf2\x73\x1e\x00");

/* 31: gzip, 15: deflate, -15: without any wrapper. */
static void pack(struct bytes in, int window_bits, struct buf *out)
{
	z_stream stream = {0};
	size_t room = in.len + 1024;

	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8,
				      Z_DEFAULT_STRATEGY),
			 Z_OK);
	buf_init(out, room);
	stream.next_in = (uint8_t *)(uintptr_t)in.data;
	stream.avail_in = (unsigned)in.len;
	stream.next_out = buf_reserve(out, room);
	stream.avail_out = (unsigned)room;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	buf_commit(out, room - stream.avail_out);
	assert_int_equal(deflateEnd(&stream), Z_OK);
}

static void pack_zstd(struct bytes in, int window_bits, struct buf *out)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_inBuffer input = {in.data, in.len, 0};
	ZSTD_outBuffer made = {.size = ZSTD_compressBound(in.len)};

	buf_init(out, made.size);
	made.dst = buf_reserve(out, made.size);
	assert_false(ZSTD_isError(
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, window_bits)));
	assert_int_equal(
		ZSTD_compressStream2(zstd, &made, &input, ZSTD_e_flush), 0);
	assert_int_equal(ZSTD_compressStream2(zstd, &made, &input, ZSTD_e_end),
			 0);
	buf_commit(out, made.pos);
	assert_int_equal(ZSTD_freeCCtx(zstd), 0);
}

/* ERR_NONE: content is what comes out. */
static void expect(const char *encoding, struct bytes body, uint64_t max,
		   enum err_code code, struct bytes content)
{
	struct decoded out;
	struct err err = {0};
	int rc = decode_content(bytes_str(encoding), body, max, &out, &err);

	assert_int_equal(err.code, code);
	assert_int_equal(rc, code == ERR_NONE ? 0 : -1);
	if (rc == 0)
		assert_true(bytes_equal(out.content, content));
	decoded_release(&out);
}

static void decode_takes_each_coding(void **state)
{
	struct buf packed;
	struct buf twice;

	(void)state;
	expect("", TEXT, MIB, ERR_NONE, TEXT);
	expect("identity", TEXT, MIB, ERR_NONE, TEXT);
	expect("br", brotli_text, MIB, ERR_NONE, TEXT);
	pack(TEXT, 31, &packed);
	expect("gzip", buf_view(&packed), MIB, ERR_NONE, TEXT);
	expect(" X-GZip ", buf_view(&packed), MIB, ERR_NONE, TEXT);
	pack(buf_view(&packed), 15, &twice);
	expect("gzip, deflate", buf_view(&twice), MIB, ERR_NONE, TEXT);
	expect("deflate, gzip", buf_view(&twice), MIB, ERR_INVALID, TEXT);
	buf_release(&twice);
	buf_release(&packed);
	pack(TEXT, 15, &packed);
	expect("deflate", buf_view(&packed), MIB, ERR_NONE, TEXT);
	buf_release(&packed);
	pack_zstd(TEXT, 20, &packed);
	expect("zstd", buf_view(&packed), MIB, ERR_NONE, TEXT);
	buf_release(&packed);
}

static void decode_refuses_unknown_codings(void **state)
{
	static const char *const rows[] = {
		"compress",  "gzip;q=1", "gzip, ", ", gzip",
		"aes128gcm", "gzi",	 "dcb",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect(rows[i], TEXT, MIB, ERR_UNSUPPORTED, TEXT);
	expect("identity, identity", TEXT, MIB, ERR_NONE, TEXT);
	expect("identity, identity, identity", TEXT, MIB, ERR_TOO_LARGE, TEXT);
}

/* Cut at every byte, and with one more after the end. */
static void expect_exact(const char *encoding, struct bytes body)
{
	struct buf longer;

	for (size_t len = 0; len < body.len; len++)
		expect(encoding, bytes_slice(body, 0, len), MIB, ERR_INVALID,
		       TEXT);
	buf_init(&longer, 2 * body.len);
	assert_int_equal(buf_add(&longer, body), 0);
	assert_int_equal(buf_add_byte(&longer, 0), 0);
	expect(encoding, buf_view(&longer), MIB, ERR_INVALID, TEXT);
	buf_clear(&longer);
	/* A second member, which some readers would take. */
	assert_int_equal(buf_add(&longer, body), 0);
	assert_int_equal(buf_add(&longer, body), 0);
	expect(encoding, buf_view(&longer), MIB, ERR_INVALID, TEXT);
	buf_release(&longer);
}

static void decode_takes_one_whole_stream_alone(void **state)
{
	struct buf packed;

	(void)state;
	expect_exact("br", brotli_text);
	pack(TEXT, 31, &packed);
	expect_exact("gzip", buf_view(&packed));
	packed.data[packed.end - 6] ^= 1; /* of its CRC32 */
	expect("gzip", buf_view(&packed), MIB, ERR_INVALID, TEXT);
	buf_release(&packed);
	pack(TEXT, 15, &packed);
	expect_exact("deflate", buf_view(&packed));
	buf_release(&packed);
	pack(TEXT, -15, &packed);
	expect("deflate", buf_view(&packed), MIB, ERR_INVALID, TEXT);
	buf_release(&packed);
	pack_zstd(TEXT, 20, &packed);
	expect_exact("zstd", buf_view(&packed));
	buf_release(&packed);
	/* A zstd frame that is skipped: nothing for us, who knows for them. */
	expect("zstd",
	       (struct bytes)BYTES_LITERAL("\x50\x2a\x4d\x18\x01\0\0\0x"), MIB,
	       ERR_INVALID, TEXT);
}

static void decode_stops_at_its_bounds(void **state)
{
	auto_free uint8_t *zeros = calloc(1, 4 * MIB);
	auto_free uint8_t *noise = calloc(1, 10 * MIB);
	struct buf packed;
	uint32_t seed = 1;

	(void)state;
	assert_true(zeros && noise);
	expect("", TEXT, TEXT.len, ERR_NONE, TEXT);
	expect("", TEXT, TEXT.len - 1, ERR_TOO_LARGE, TEXT);
	pack(TEXT, 31, &packed);
	expect("gzip", buf_view(&packed), packed.end, ERR_NONE, TEXT);
	buf_release(&packed);
	/* Out: exactly the bound, one more, and too much for what came in. */
	pack(bytes_from(zeros, DECODE_SMALL_MAX), 31, &packed);
	expect("gzip", buf_view(&packed), DECODE_SMALL_MAX, ERR_NONE,
	       bytes_from(zeros, DECODE_SMALL_MAX));
	expect("gzip", buf_view(&packed), DECODE_SMALL_MAX - 1, ERR_TOO_LARGE,
	       TEXT);
	buf_release(&packed);
	pack(bytes_from(zeros, 4 * MIB), 31, &packed);
	expect("gzip", buf_view(&packed), 8 * MIB, ERR_TOO_LARGE, TEXT);
	buf_release(&packed);
	expect("br", brotli_zeros, 8 * MIB, ERR_TOO_LARGE, TEXT);
	for (size_t i = 0; i < 10 * MIB; i++)
		noise[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
	pack_zstd(bytes_from(noise, 10 * MIB), 23, &packed);
	expect("zstd", buf_view(&packed), 16 * MIB, ERR_NONE,
	       bytes_from(noise, 10 * MIB));
	buf_release(&packed);
	pack_zstd(bytes_from(noise, 10 * MIB), 24, &packed);
	expect("zstd", buf_view(&packed), 16 * MIB, ERR_INVALID, TEXT);
	buf_release(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_takes_each_coding),
		cmocka_unit_test(decode_refuses_unknown_codings),
		cmocka_unit_test(decode_takes_one_whole_stream_alone),
		cmocka_unit_test(decode_stops_at_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
