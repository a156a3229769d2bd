#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/utf8.h"
#include "sandbox-host/commands/lines.h"

/* All lines of text, each in <>. */
static const char *split(struct bytes text, bool has_ended, struct buf *out)
{
	auto_type(buf_release) struct buf in;
	auto_type(buf_release) struct buf line;

	buf_init(&in, 2 * LINE_BYTES_MAX);
	buf_init(&line, LINE_TEXT_MAX);
	buf_init(out, 8 * LINE_BYTES_MAX);
	assert_int_equal(buf_add(&in, text), 0);
	while (lines_next(&in, has_ended, &line)) {
		assert_int_equal(buf_add_format(out, "<"), 0);
		assert_int_equal(buf_add(out, buf_view(&line)), 0);
		assert_int_equal(buf_add_format(out, ">"), 0);
	}
	(void)buf_add(out, buf_view(&in));
	return buf_str(out);
}

static void lines_come_without_their_newline(void **state)
{
	static const struct {
		const char *text;
		bool has_ended;
		const char *lines;
	} cases[] = {
		{"", false, ""},
		{"", true, ""},
		{"a\nb\n", false, "<a><b>"},
		{"a\nb", false, "<a>b"},
		{"a\nb", true, "<a><b>"},
		{"\n\na\n", false, "<\n><\n><a>"},
		{"a\r\n", false, "<a\r>"},
		{"\xc3\xa4\n", false, "<\xc3\xa4>"},
		{"x\xff\xc3(\n", false, "<x\xef\xbf\xbd\xef\xbf\xbd(>"},
		{"\xed\xa0\x80\n", false,
		 "<\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd>"},
		{"\xf0\x9f\x98", true,
		 "<\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd>"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_type(buf_release) struct buf out;

		assert_string_equal(split(bytes_str(cases[i].text),
					  cases[i].has_ended, &out),
				    cases[i].lines);
	}
}

static void a_line_that_is_too_long_comes_in_pieces(void **state)
{
	auto_free uint8_t *text = malloc(LINE_BYTES_MAX + 2);
	auto_type(buf_release) struct buf in;
	auto_type(buf_release) struct buf line;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', LINE_BYTES_MAX + 2);
	/* A character that the bound would cut. */
	memcpy(text + LINE_BYTES_MAX - 1, "\xc3\xa4", 2);
	text[LINE_BYTES_MAX + 1] = '\n';
	buf_init(&in, 2 * LINE_BYTES_MAX);
	buf_init(&line, LINE_TEXT_MAX);
	assert_int_equal(buf_add(&in, bytes_from(text, LINE_BYTES_MAX - 1)), 0);
	assert_false(lines_next(&in, false, &line));
	assert_int_equal(buf_add(&in, bytes_from(text + LINE_BYTES_MAX - 1, 3)),
			 0);
	assert_true(lines_next(&in, false, &line));
	assert_int_equal(buf_len(&line), LINE_BYTES_MAX - 1);
	assert_true(lines_next(&in, false, &line));
	assert_true(bytes_is(buf_view(&line), "\xc3\xa4"));
	assert_int_equal(buf_len(&in), 0);
}

static void a_line_of_bytes_that_are_no_text_fits(void **state)
{
	auto_free uint8_t *text = malloc(LINE_BYTES_MAX);
	auto_type(buf_release) struct buf in;
	auto_type(buf_release) struct buf line;

	(void)state;
	assert_non_null(text);
	memset(text, 0xff, LINE_BYTES_MAX);
	buf_init(&in, LINE_BYTES_MAX);
	buf_init(&line, LINE_TEXT_MAX);
	assert_int_equal(buf_add(&in, bytes_from(text, LINE_BYTES_MAX)), 0);
	while (lines_next(&in, true, &line))
		assert_int_equal(utf8_valid_len(buf_view(&line)),
				 buf_len(&line));
	assert_int_equal(buf_len(&in), 0);
}

static void a_character_that_may_go_on_waits(void **state)
{
	static const struct {
		const char *text;
		size_t whole;
	} cases[] = {
		{"", 0},
		{"a", 1},
		{"a\xc3", 1},
		{"a\xc3\xa4", 3},
		{"a\xe2\x82", 1},
		{"\xe2\x82\xac", 3},
		{"\xf0\x9f\x98", 0},
		{"\xf0\x9f\x98\x80", 4},
		{"\x80\x80\x80\x80", 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(lines_whole_len(bytes_str(cases[i].text)),
				 cases[i].whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_without_their_newline),
		cmocka_unit_test(a_line_that_is_too_long_comes_in_pieces),
		cmocka_unit_test(a_line_of_bytes_that_are_no_text_fits),
		cmocka_unit_test(a_character_that_may_go_on_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
