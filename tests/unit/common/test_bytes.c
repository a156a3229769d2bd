#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "common/bytes.h"
#include "common/cleanup.h"

static struct bytes text(const char *s)
{
	return bytes_str(s);
}

static void bytes_compares_content_and_length(void **state)
{
	(void)state;
	assert_true(bytes_is(text("abc"), "abc"));
	assert_false(bytes_is(text("abc"), "abd"));
	assert_false(bytes_is(text("abc"), "ab"));
	assert_true(bytes_equal(bytes_from(NULL, 0), text("")));
	assert_true(bytes_equal_constant_time(text("abc"), text("abc")));
	assert_false(bytes_equal_constant_time(text("abc"), text("abd")));
	assert_false(bytes_equal_constant_time(text("abc"), text("abcd")));
}

static void bytes_folds_ascii_case_alone(void **state)
{
	(void)state;
	assert_true(bytes_is_nocase(text("Host-AZ[`"), "hOST-az[`"));
	assert_false(bytes_is_nocase(text("@"), "`"));
	assert_false(bytes_is_nocase(text("["), "{"));
	assert_false(bytes_is_nocase(text("\xc0"), "\xe0"));
}

/* Words or single bytes: each value at each place of each length. */
static void bytes_fold_the_same_at_any_place(void **state)
{
	char one[21], other[21];

	(void)state;
	for (size_t i = 0; i < 256 * sizeof(one); i++) {
		size_t at = i % sizeof(one);
		uint8_t byte = (uint8_t)(i / sizeof(one));
		bool is_letter = (byte >= 'A' && byte <= 'Z') ||
				 (byte >= 'a' && byte <= 'z');

		for (size_t len = at + 1; len <= sizeof(one); len++) {
			memset(one, 'k', len);
			memset(other, 'K', len);
			one[at] = (char)byte;
			other[at] = (char)(byte ^ 0x20);
			assert_int_equal(
				bytes_equal_nocase(bytes_from(one, len),
						   bytes_from(other, len)),
				is_letter);
			other[at] = (char)byte;
			assert_true(bytes_equal_nocase(bytes_from(one, len),
						       bytes_from(other, len)));
			other[at] = (char)(byte ^ 1);
			assert_false(bytes_equal_nocase(
				bytes_from(one, len), bytes_from(other, len)));
		}
	}
}

static void bytes_knows_its_ends(void **state)
{
	(void)state;
	assert_true(bytes_starts_with(text("abc"), text("ab")));
	assert_true(bytes_starts_with(text("abc"), text("")));
	assert_false(bytes_starts_with(text("ab"), text("abc")));
	assert_true(bytes_ends_with(text("abc"), text("bc")));
	assert_true(bytes_ends_with(text("abc"), text("abc")));
	assert_false(bytes_ends_with(text("bc"), text("abc")));
	assert_false(bytes_ends_with(text("abc"), text("ab")));
}

static void bytes_finds_from_an_index_on(void **state)
{
	(void)state;
	assert_int_equal(bytes_find(text("a,b,c"), ',', 0), 1);
	assert_int_equal(bytes_find(text("a,b,c"), ',', 2), 3);
	assert_int_equal(bytes_find(text("a,b,c"), ',', 4), -1);
	assert_int_equal(bytes_find(text("a"), 'a', 9), -1);
	assert_int_equal(bytes_find(bytes_from(NULL, 0), 'a', 0), -1);
	assert_int_equal(bytes_find_bytes(text("abcabc"), text("bc"), 2), 4);
	assert_int_equal(bytes_find_bytes(text("abc"), text("cd"), 0), -1);
	assert_int_equal(bytes_find_bytes(text("abc"), text(""), 0), -1);
	assert_int_equal(bytes_find_bytes(text("abc"), text("c"), 4), -1);
	assert_int_equal(bytes_find_bytes(bytes_from(NULL, 0), text("c"), 0),
			 -1);
}

static void bytes_slice_clamps_both_ends(void **state)
{
	(void)state;
	assert_true(bytes_is(bytes_slice(text("abcd"), 1, 3), "bc"));
	assert_true(bytes_is(bytes_slice(text("abcd"), 2, 99), "cd"));
	assert_int_equal(bytes_slice(text("abcd"), 9, 99).len, 0);
	assert_int_equal(bytes_slice(text("abcd"), 3, 1).len, 0);
	assert_int_equal(bytes_slice(bytes_from(NULL, 0), 1, 2).len, 0);
}

static void bytes_split_gives_head_and_rest(void **state)
{
	struct bytes view = text("a,b,"), head;

	(void)state;
	assert_true(bytes_split(&view, ',', &head));
	assert_true(bytes_is(head, "a"));
	assert_true(bytes_split(&view, ',', &head));
	assert_true(bytes_is(head, "b"));
	assert_false(bytes_split(&view, ',', &head));
	assert_int_equal(head.len + view.len, 0);
}

static void bytes_trim_strips_blanks_alone(void **state)
{
	(void)state;
	assert_true(bytes_is(bytes_trim(text(" \ta b\t ")), "a b"));
	assert_true(bytes_is(bytes_trim(text("\na\r")), "\na\r"));
	assert_int_equal(bytes_trim(text(" \t ")).len, 0);
}

static void bytes_parses_plain_decimals_alone(void **state)
{
	static const struct {
		const char *text;
		unsigned digits_max;
		int result;
		uint64_t value;
	} rows[] = {
		{"0", 1, 0, 0},
		{"007", 3, 0, 7},
		{"18446744073709551615", 20, 0, UINT64_MAX},
		{"18446744073709551616", 20, -1, 0},
		{"99999999999999999999", 20, -1, 0},
		{"1000", 3, -1, 0},
		{"", 3, -1, 0},
		{"+3", 3, -1, 0},
		{"-3", 3, -1, 0},
		{"0x3", 3, -1, 0},
		{" 3", 3, -1, 0},
		{"3 ", 3, -1, 0},
		{"3:", 3, -1, 0},
		{"3/", 3, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 0;

		assert_int_equal(bytes_to_u64(text(rows[i].text),
					      rows[i].digits_max, &value),
				 rows[i].result);
		if (rows[i].result == 0)
			assert_true(value == rows[i].value);
	}
}

static void bytes_hex_goes_both_ways(void **state)
{
	static const uint8_t raw[] = {0x00, 0x9f, 0xa0, 0xff};
	uint8_t back[4];
	char hex[9];

	(void)state;
	bytes_to_hex(bytes_from(raw, sizeof(raw)), hex);
	assert_string_equal(hex, "009fa0ff");
	assert_int_equal(bytes_from_hex(text("009fA0Ff"), back), 0);
	assert_memory_equal(back, raw, sizeof(raw));
	assert_int_equal(bytes_from_hex(text("009"), back), -1);
	assert_int_equal(bytes_from_hex(text("0g"), back), -1);
	assert_int_equal(bytes_from_hex(text("@0"), back), -1);
}

static void bytes_dup_refuses_a_nul_inside(void **state)
{
	auto_free char *copy = bytes_dup(text("abc"));
	auto_free char *empty = bytes_dup(bytes_from(NULL, 0));

	(void)state;
	assert_string_equal(copy, "abc");
	assert_string_equal(empty, "");
	assert_null(bytes_dup(bytes_from("a\0b", 3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_compares_content_and_length),
		cmocka_unit_test(bytes_folds_ascii_case_alone),
		cmocka_unit_test(bytes_fold_the_same_at_any_place),
		cmocka_unit_test(bytes_knows_its_ends),
		cmocka_unit_test(bytes_finds_from_an_index_on),
		cmocka_unit_test(bytes_slice_clamps_both_ends),
		cmocka_unit_test(bytes_split_gives_head_and_rest),
		cmocka_unit_test(bytes_trim_strips_blanks_alone),
		cmocka_unit_test(bytes_parses_plain_decimals_alone),
		cmocka_unit_test(bytes_hex_goes_both_ways),
		cmocka_unit_test(bytes_dup_refuses_a_nul_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
