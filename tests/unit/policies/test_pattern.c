#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/pattern.h"

#define ARENA_MAX (1024 * 1024)

static enum pattern_answer ask(const char *text, struct bytes value)
{
	auto_type(arena_release) struct arena arena;
	struct pattern_fault fault = {0};
	const struct pattern *pattern;

	arena_init(&arena, ARENA_MAX);
	pattern = pattern_new(&arena, bytes_str(text), &fault);
	if (!pattern)
		print_error("%s: %s\n", text, fault.why);
	assert_non_null(pattern);
	assert_true(bytes_is(pattern_text(pattern), text));
	return pattern_ask(pattern, value);
}

static void a_pattern_matches_the_whole_value_or_not_at_all(void **state)
{
	static const struct {
		const char *pattern, *value;
		enum pattern_answer answer;
	} rows[] = {
		{"[0-9]+", "123", PATTERN_MATCHES},
		{"[0-9]+", "123x", PATTERN_DIFFERS},
		{"[0-9]+", "x123", PATTERN_DIFFERS},
		{"[0-9]+", "", PATTERN_DIFFERS},
		{"[0-9]+", "1\n", PATTERN_DIFFERS},
		{"", "", PATTERN_MATCHES},
		{"", "x", PATTERN_DIFFERS},
		{"a|b", "a", PATTERN_MATCHES},
		{"a|b", "b", PATTERN_MATCHES},
		/* an alternative that is shorter does not win */
		{"a|ab", "ab", PATTERN_MATCHES},
		{"a|b", "ab", PATTERN_DIFFERS},
		{"^a$", "a", PATTERN_MATCHES},
		{"a$|b", "a\n", PATTERN_DIFFERS},
		{".*secret.*", "one\nsecret\ntwo", PATTERN_MATCHES},
		{"(?i)main", "MAIN", PATTERN_MATCHES},
		{"main", "MAIN", PATTERN_DIFFERS},
		{"(?!x).*", "abc", PATTERN_MATCHES},
		{"(?!x).*", "xbc", PATTERN_DIFFERS},
		{"\\(\\*\\)", "(*)", PATTERN_MATCHES},
		{".", "\xc3\xa9", PATTERN_MATCHES},
		{"[\xc3\xa9]", "\xc3\xa9", PATTERN_MATCHES},
		{"[\xc3\xa9]", "\xc3", PATTERN_UNSURE},
		{".*", "\xff", PATTERN_UNSURE},
		{"\\d", "\xd9\xa1", PATTERN_DIFFERS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s: %s\n", rows[i].pattern, rows[i].value);
		assert_int_equal(ask(rows[i].pattern, bytes_str(rows[i].value)),
				 rows[i].answer);
	}
}

static void a_pattern_sees_bytes_that_end_strings(void **state)
{
	(void)state;
	assert_int_equal(ask("ab", bytes_from("ab\0c", 4)), PATTERN_DIFFERS);
	assert_int_equal(ask("ab.c", bytes_from("ab\0c", 4)), PATTERN_MATCHES);
}

static void a_text_that_is_no_pattern_is_told_with_its_place(void **state)
{
	static const struct {
		const char *text, *why;
		size_t at;
	} rows[] = {
		{"ab[", "missing terminating ]", 3},
		{"a)b", "unmatched closing parenthesis", 1},
		{"ab(?(1)x|y)", "condition", 2},
		{"(*LIMIT_MATCH=1)a", "verb", 0},
		{"x(*ACCEPT)", "verb", 1},
		{"a(?C1)b", "callout", 1},
		{"a\\Kb", "\\K", 1},
		{"\\Qa", "\\Q", 0},
		{"a\\Cb", "\\C", 3},
		{"(?<x>a)\\k<x>", "back reference", 0},
		{"((((((((((((((((((((((((((((((((((((((((((((((((((((a",
		 "nested", 51},
		{"\xff", "UTF-8", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		struct pattern_fault fault = {0};

		arena_init(&arena, ARENA_MAX);
		assert_null(
			pattern_new(&arena, bytes_str(rows[i].text), &fault));
		print_message("%s: %zu: %s\n", rows[i].text, fault.at,
			      fault.why);
		assert_non_null(strstr(fault.why, rows[i].why));
		assert_int_equal(fault.at, rows[i].at);
	}
}

static void long_values_are_matched_in_one_pass(void **state)
{
	static const char *const patterns[] = {
		"(a|a)*b",
		"(a|aa)+b",
		".*.*.*.*.*.*b",
		".*password.*",
	};
	static char value[64 * 1024];

	(void)state;
	memset(value, 'a', sizeof(value));
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		print_message("%s\n", patterns[i]);
		assert_int_equal(
			ask(patterns[i], bytes_from(value, sizeof(value))),
			PATTERN_DIFFERS);
	}
	assert_int_equal(ask("([a-z]+,?)+", bytes_from(value, sizeof(value))),
			 PATTERN_MATCHES);
}

/* Some of these take a backtracking matcher years. */
static void what_costs_too_much_is_unsure(void **state)
{
	static const char *const patterns[] = {
		"(a+)+b",     "([a-z]+,?)+b",	  ".*[a-z]+b",
		"(.*a){12}b", "((?=.*b|.*a).)*b", "(a?){1500}a{1500}b",
	};
	static char value[64 * 1024];

	(void)state;
	memset(value, 'a', sizeof(value));
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		print_message("%s\n", patterns[i]);
		assert_int_not_equal(
			ask(patterns[i], bytes_from(value, sizeof(value))),
			PATTERN_MATCHES);
	}
	assert_int_equal(ask("(a+)+b", bytes_from(value, sizeof(value))),
			 PATTERN_UNSURE);
	/* a lookahead at each byte is a call at each byte */
	assert_int_equal(ask("((?=.*b|.*a).)*", bytes_from(value, 64)),
			 PATTERN_MATCHES);
	assert_int_equal(
		ask("((?=.*b|.*a).)*", bytes_from(value, sizeof(value))),
		PATTERN_UNSURE);
}

static void a_full_arena_is_no_pattern(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct pattern_fault fault = {0};

	(void)state;
	arena_init(&arena, 64);
	assert_null(pattern_new(&arena, bytes_str("a+"), &fault));
	assert_true(fault.why[0] != '\0');
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_pattern_matches_the_whole_value_or_not_at_all),
		cmocka_unit_test(a_pattern_sees_bytes_that_end_strings),
		cmocka_unit_test(
			a_text_that_is_no_pattern_is_told_with_its_place),
		cmocka_unit_test(long_values_are_matched_in_one_pass),
		cmocka_unit_test(what_costs_too_much_is_unsure),
		cmocka_unit_test(a_full_arena_is_no_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
