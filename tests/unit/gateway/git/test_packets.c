#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/git/packets.h"

/* Take all packets of input, given in pieces of step bytes, as text: one
 * character a packet, payloads in brackets. */
static void collect(const char *input, size_t step, struct buf *seen)
{
	struct bytes all = bytes_str(input);
	struct buf held;

	buf_init(&held, PACKETS_HELD_MAX);
	for (size_t at = 0; at < all.len; at += step) {
		struct bytes piece = bytes_slice(all, at, at + step), payload;

		while (piece.len > 0) {
			enum pktline_kind kind;

			kind = packets_take(&held, &piece, &payload);
			if (kind == PKTLINE_MORE)
				break;
			assert_int_equal(buf_add_byte(seen, "?DF|E!"[kind]), 0);
			if (kind == PKTLINE_INVALID)
				break;
			if (kind == PKTLINE_DATA)
				assert_int_equal(
					buf_add_format(seen, "[%.*s]",
						       BYTES_ARGS(payload)),
					0);
		}
	}
	if (packets_is_split(&held))
		assert_int_equal(buf_add_byte(seen, '~'), 0);
	buf_release(&held);
}

static void packets_come_whole_from_any_split(void **state)
{
	static const struct {
		const char *input, *seen;
	} rows[] = {
		{"0009hello", "D[hello]"},
		{"0009hello0000", "D[hello]F"},
		{"00040009hello00010002", "D[]D[hello]|E"},
		{"0009hel", "~"},
		{"000", "~"},
		{"0000PACK", "F!"},
		{"0009hello0009wor", "D[hello]~"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t step = 1; step < 30; step++) {
			struct buf seen;

			buf_init(&seen, 4096);
			collect(rows[i].input, step, &seen);
			/* What follows an invalid packet is not looked at. */
			if (rows[i].seen[strlen(rows[i].seen) - 1] == '!')
				assert_non_null(strchr(buf_str(&seen), '!'));
			else
				assert_string_equal(buf_str(&seen),
						    rows[i].seen);
			buf_release(&seen);
		}
	}
}

static void packets_know_words_tokens_and_lines(void **state)
{
	struct bytes rest;

	(void)state;
	assert_true(packets_word(bytes_str("want x y"), "want", &rest));
	assert_true(bytes_is(rest, "x y"));
	assert_false(packets_word(bytes_str("want"), "want", &rest));
	assert_false(packets_word(bytes_str("wanted x"), "want", &rest));
	assert_true(bytes_is(packets_line(bytes_str("a\n\n")), "a\n"));
	assert_true(packets_is_token(bytes_str("git/2.39"), 8));
	assert_false(packets_is_token(bytes_str("git/2.391"), 8));
	assert_false(packets_is_token(bytes_str("a b"), 8));
	assert_false(packets_is_token(bytes_str("a\x7f"), 8));
	assert_true(packets_is_text(bytes_str("a \xc3\xa9"), 8));
	assert_false(packets_is_text(bytes_str("a\nb"), 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_come_whole_from_any_split),
		cmocka_unit_test(packets_know_words_tokens_and_lines),
	};

	return cmocka_run_group_tests_name("packets", tests, NULL, NULL);
}
