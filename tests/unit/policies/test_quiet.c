#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/quiet.h"
#include "policies/remedy.h"

static void quiet_covers_a_text_with_the_pattern_in_it(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool is_covered;
	} rows[] = {
		{"b", "abc", true},	{"abc", "abc", true},
		{"abcd", "abc", false}, {"a*c", "abc", true},
		{"a*c", "ac", true},	{"c*a", "abc", false},
		{"a*a", "a", false},	{"a*a", "aa", true},
		{"*b*", "abc", true},	{"a**c", "abc", true},
		{"ab*b", "abab", true}, {"ab*b", "ab", false},
		{"x", "", false},	{"B", "abc", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct bytes item = bytes_str(rows[i].pattern);
		const struct policy_strings patterns = {&item, 1};

		assert_int_equal(
			quiet_covers(&patterns, bytes_str(rows[i].text)),
			rows[i].is_covered);
	}
	assert_false(quiet_covers(&(struct policy_strings){NULL, 0},
				  bytes_str("a")));
}

static void remedy_is_the_rules_own_before_the_constraints(void **state)
{
	const struct bytes none = bytes_from(NULL, 0);

	(void)state;
	assert_non_null(
		strstr(remedy_of(CONSTRAINT_filesystem, bytes_str(RULE_WRITE)),
		       "filesystem.write"));
	assert_non_null(strstr(
		remedy_of(CONSTRAINT_host_not_allowed, bytes_str("mine")),
		"network.rules"));
	assert_string_equal(remedy_of(CONSTRAINT_filesystem, none), "");
	assert_string_equal(remedy_of(CONSTRAINT_none, none), "");
	assert_string_equal(remedy_of(CONSTRAINT_MAX, none), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_covers_a_text_with_the_pattern_in_it),
		cmocka_unit_test(
			remedy_is_the_rules_own_before_the_constraints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
