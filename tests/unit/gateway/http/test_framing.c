/* Bodies: what the decoder refuses (security.md A14-A17), what it gives,
 * byte by byte and whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/http/framing.h"

#define TEXT(literal) bytes_from(literal, sizeof(literal) - 1)

/* Decode text in pieces of step bytes; the payload goes to out, what was
 * left of the input when it ended into *left. */
static enum body_result decode(struct body_decoder *decoder, struct bytes text,
			       size_t step, struct buf *out, size_t *left)
{
	enum body_result result = BODY_MORE;

	*left = text.len;
	while (*left > 0) {
		struct bytes piece = bytes_slice(
			text, text.len - *left,
			*left < step ? text.len : text.len - *left + step);
		size_t before = piece.len;

		while (piece.len > 0) {
			struct bytes payload;

			result = body_decode(decoder, &piece, &payload);
			assert_int_equal(buf_add(out, payload), 0);
			if (result != BODY_MORE)
				break;
		}
		*left -= before - piece.len;
		if (result != BODY_MORE)
			break;
	}
	return result;
}

struct row {
	const char *what;
	struct bytes text;
	enum body_result result;
	struct bytes payload;
	size_t left;
};

#define ROW(what, text, result, payload, left)                                 \
	{what, BYTES_LITERAL(text), result, BYTES_LITERAL(payload), left}

static const struct row chunked[] = {
	ROW("nothing", "0\r\n\r\n", BODY_END, "", 0),
	ROW("one chunk", "5\r\nhello\r\n0\r\n\r\n", BODY_END, "hello", 0),
	ROW("what follows", "5\r\nhello\r\n0\r\n\r\nGET /", BODY_END, "hello",
	    5),
	ROW("two chunks", "1\r\na\r\nA\r\n0123456789\r\n0\r\n\r\n", BODY_END,
	    "a0123456789", 0),
	ROW("data that looks like chunks", "5\r\n0\r\n\r\n\r\n0\r\n\r\n",
	    BODY_END, "0\r\n\r\n", 0),
	ROW("leading zeros", "0000000000000003\r\nabc\r\n000\r\n\r\n", BODY_END,
	    "abc", 0),
	ROW("A15 an extension", "3;a=b;c=\"d\"\r\nabc\r\n0;x\r\n\r\n", BODY_END,
	    "abc", 0),
	ROW("A17 trailers", "0\r\nHost: b\r\nContent-Length: 3\r\n\r\n",
	    BODY_END, "", 0),
	ROW("cut short", "5\r\nhel", BODY_MORE, "hel", 0),
	ROW("cut before the end", "5\r\nhello\r\n0\r\n", BODY_MORE, "hello", 0),
	ROW("A14 0x3", "0x3\r\nabc\r\n0\r\n\r\n", BODY_INVALID, "", 0),
	ROW("A14 +3", "+3\r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A14 -3", "-3\r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A14 a space before", " 3\r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A14 a space behind", "3 \r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A14 HTAB behind", "3\t;a\r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A14 no digit", "\r\nabc", BODY_INVALID, "", 0),
	ROW("A14 no digit, extension", ";a\r\n", BODY_INVALID, "", 0),
	ROW("A14 g", "g\r\n", BODY_INVALID, "", 0),
	ROW("A14 17 digits", "00000000000000003\r\nabc\r\n", BODY_INVALID, "",
	    0),
	ROW("A14 an underscore", "1_0\r\n", BODY_INVALID, "", 0),
	ROW("A9 LF after the size", "3\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A9 CR after the size", "3\rabc\r\n", BODY_INVALID, "", 0),
	ROW("A9 CR CR LF", "3\r\r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A15 LF in an extension", "3;a\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A15 NUL in an extension", "3;\0\r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A15 CR in an extension", "3;a\rb\r\nabc\r\n", BODY_INVALID, "", 0),
	ROW("A16 more data", "3\r\nabcd\r\n", BODY_INVALID, "abc", 0),
	ROW("A16 LF after data", "3\r\nabc\n0\r\n\r\n", BODY_INVALID, "abc", 0),
	ROW("A16 CR after data", "3\r\nabc\r0\r\n\r\n", BODY_INVALID, "abc", 0),
	ROW("A16 nothing after data", "3\r\nabc0\r\n\r\n", BODY_INVALID, "abc",
	    0),
	ROW("A17 LF at the end", "0\r\n\n", BODY_INVALID, "", 0),
	ROW("A17 a folded trailer", "0\r\nX: y\r\n z\r\n\r\n", BODY_INVALID, "",
	    0),
	ROW("A17 no colon", "0\r\nGET / HTTP/1.1\r\n\r\n", BODY_INVALID, "", 0),
};

static void check_row(const struct row *row, size_t step)
{
	struct body_decoder decoder;
	auto_type(buf_release) struct buf out;
	enum body_result result;
	size_t left;

	buf_init(&out, 4096);
	body_decoder_init(&decoder, FRAMING_CHUNKED, 0);
	result = decode(&decoder, row->text, step, &out, &left);
	if (result != row->result || !bytes_equal(buf_view(&out), row->payload))
		fail_msg("%s (step %zu): %d, %s", row->what, step, result,
			 decoder.reason ? decoder.reason : "-");
	if (result == BODY_END)
		assert_int_equal(left, row->left);
	if (result == BODY_INVALID)
		assert_non_null(decoder.reason);
	assert_int_equal(body_decoder_may_end(&decoder), result == BODY_END);
	assert_int_equal(decoder.total, row->payload.len);
}

static void decoder_holds_chunks_to_their_grammar(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chunked); i++) {
		check_row(&chunked[i], 1);
		check_row(&chunked[i], 2);
		check_row(&chunked[i], SIZE_MAX / 2);
	}
}

static void decoder_bounds_extensions(void **state)
{
	(void)state;
	for (size_t len = 254; len <= 300; len++) {
		auto_type(buf_release) struct buf text, out;
		struct body_decoder decoder;
		size_t left;

		buf_init(&text, 4096);
		buf_init(&out, 4096);
		assert_int_equal(buf_add_str(&text, "3;"), 0);
		for (size_t i = 1; i < len; i++)
			assert_int_equal(buf_add_byte(&text, 'x'), 0);
		assert_int_equal(buf_add_str(&text, "\r\nabc\r\n0\r\n\r\n"), 0);
		body_decoder_init(&decoder, FRAMING_CHUNKED, 0);
		assert_int_equal(decode(&decoder, buf_view(&text), len % 7 + 1,
					&out, &left),
				 len <= CHUNK_EXTENSION_MAX ? BODY_END
							    : BODY_INVALID);
	}
}

static void decoder_takes_the_largest_size(void **state)
{
	struct bytes input = TEXT("ffffffffffffffff\r\nab"), payload;
	struct body_decoder decoder;

	(void)state;
	body_decoder_init(&decoder, FRAMING_CHUNKED, 0);
	assert_int_equal(body_decode(&decoder, &input, &payload), BODY_MORE);
	assert_int_equal(payload.len, 2);
	assert_true(decoder.left == UINT64_MAX - 2);
}

static void decoder_counts_a_length(void **state)
{
	auto_type(buf_release) struct buf out;
	struct body_decoder decoder;
	size_t left;

	(void)state;
	buf_init(&out, 64);
	body_decoder_init(&decoder, FRAMING_LENGTH, 5);
	assert_false(body_decoder_may_end(&decoder));
	assert_int_equal(decode(&decoder, TEXT("hel"), 1, &out, &left),
			 BODY_MORE);
	assert_int_equal(decode(&decoder, TEXT("loGET"), 9, &out, &left),
			 BODY_END);
	assert_int_equal(left, 3);
	assert_true(body_decoder_may_end(&decoder));
	assert_true(bytes_is(buf_view(&out), "hello"));
}

static void decoder_ends_at_once_where_there_is_no_body(void **state)
{
	static const enum framing framings[] = {FRAMING_NONE, FRAMING_LENGTH};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(framings); i++) {
		struct bytes input = TEXT("GET"), payload;
		struct body_decoder decoder;

		body_decoder_init(&decoder, framings[i], 0);
		assert_int_equal(body_decode(&decoder, &input, &payload),
				 BODY_END);
		assert_int_equal(input.len, 3);
		assert_int_equal(payload.len, 0);
	}
}

static void decoder_reads_to_the_close(void **state)
{
	auto_type(buf_release) struct buf out;
	struct body_decoder decoder;
	size_t left;

	(void)state;
	buf_init(&out, 64);
	body_decoder_init(&decoder, FRAMING_TO_CLOSE, 0);
	assert_int_equal(decode(&decoder, TEXT("0\r\n\r\n"), 2, &out, &left),
			 BODY_MORE);
	assert_true(body_decoder_may_end(&decoder));
	assert_true(bytes_is(buf_view(&out), "0\r\n\r\n"));
}

static void encoder_writes_what_the_decoder_reads(void **state)
{
	static const size_t lens[] = {1, 9, 10, 15, 16, 17, 255, 256, 4096};
	static uint8_t data[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		auto_type(buf_release) struct buf text, out;
		struct body_decoder decoder;
		size_t left;

		buf_init(&text, 16384);
		buf_init(&out, 16384);
		assert_int_equal(body_encode(&text, FRAMING_CHUNKED,
					     bytes_from(data, lens[i])),
				 0);
		assert_int_equal(body_encode(&text, FRAMING_CHUNKED,
					     bytes_from(data, 0)),
				 0);
		assert_int_equal(body_encode_end(&text, FRAMING_CHUNKED), 0);
		body_decoder_init(&decoder, FRAMING_CHUNKED, 0);
		assert_int_equal(
			decode(&decoder, buf_view(&text), 3, &out, &left),
			BODY_END);
		assert_true(
			bytes_equal(buf_view(&out), bytes_from(data, lens[i])));
	}
}

static void encoder_leaves_other_framings_alone(void **state)
{
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 8);
	assert_int_equal(body_encode(&out, FRAMING_LENGTH, TEXT("abc")), 0);
	assert_int_equal(body_encode_end(&out, FRAMING_LENGTH), 0);
	assert_true(bytes_is(buf_view(&out), "abc"));
	assert_int_equal(body_encode(&out, FRAMING_CHUNKED, TEXT("a")), -1);
	assert_true(bytes_is(buf_view(&out), "abc"));
}

static void chunk_header_writes_every_size(void **state)
{
	static const struct {
		uint64_t len;
		const char *text;
	} rows[] = {
		{1, "1\r\n"},
		{15, "f\r\n"},
		{16, "10\r\n"},
		{65536, "10000\r\n"},
		{UINT64_MAX, "ffffffffffffffff\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[CHUNK_HEADER_MAX];
		size_t len = chunk_header(rows[i].len, out);

		assert_true(bytes_is(bytes_from(out, len), rows[i].text));
	}
}

static void client_gets_chunks_unless_it_is_http_1_0(void **state)
{
	static const struct {
		enum framing upstream;
		bool is_http10;
		enum framing client;
	} rows[] = {
		{FRAMING_NONE, false, FRAMING_NONE},
		{FRAMING_LENGTH, true, FRAMING_LENGTH},
		{FRAMING_CHUNKED, false, FRAMING_CHUNKED},
		{FRAMING_CHUNKED, true, FRAMING_TO_CLOSE},
		{FRAMING_TO_CLOSE, false, FRAMING_CHUNKED},
		{FRAMING_TO_CLOSE, true, FRAMING_TO_CLOSE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct response response = {.framing = rows[i].upstream};
		struct request request = {.is_http10 = rows[i].is_http10};

		assert_int_equal(framing_for_client(&response, &request),
				 rows[i].client);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoder_holds_chunks_to_their_grammar),
		cmocka_unit_test(decoder_bounds_extensions),
		cmocka_unit_test(decoder_takes_the_largest_size),
		cmocka_unit_test(decoder_counts_a_length),
		cmocka_unit_test(decoder_ends_at_once_where_there_is_no_body),
		cmocka_unit_test(decoder_reads_to_the_close),
		cmocka_unit_test(encoder_writes_what_the_decoder_reads),
		cmocka_unit_test(encoder_leaves_other_framings_alone),
		cmocka_unit_test(chunk_header_writes_every_size),
		cmocka_unit_test(client_gets_chunks_unless_it_is_http_1_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
