#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "policies/glob.h"

static void a_glob_matches_whole_paths(void **state)
{
	static const struct {
		const char *glob, *path;
		bool matches;
	} rows[] = {
		{"a", "a", true},
		{"a", "ab", false},
		{"", "", true},
		{"*.c", "x.c", true},
		{"*.c", ".c", true},
		{"*.c", "d/x.c", false},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxbyy", false},
		{"?", "x", true},
		{"?", "/", false},
		{"a?c", "a/c", false},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[^a-c]x", "ax", false},
		{"[!a]b", "/b", false},
		{"[]x]", "]", true},
		{"[a-]", "-", true},
		{"[\\]]", "]", true},
		{"[[:digit:]_]", "7", true},
		{"[[:digit:]_]", "_", true},
		{"[[:digit:]_]", "a", false},
		{"**/x", "x", true},
		{"**/x", "a/b/x", true},
		{"**/x", "ax", false},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"a/**/b", "ab", false},
		{"a/**/b", "a/xb", false},
		{"**/a/**/b", "x/a/y/b", true},
		{"a/**", "a/b/c", true},
		{"a/**", "a", false},
		{"a/**", "a/", false},
		{"**", "a/b", true},
		{"\\*", "*", true},
		{"\\*", "x", false},
		{"a\\", "a", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct glob glob;
		struct glob_fault fault;
		bool matches = glob_parse(&glob, bytes_str(rows[i].glob),
					  GLOB_POLICY, &fault) == 0 &&
			       glob_matches(&glob, bytes_str(rows[i].path));

		if (matches != rows[i].matches)
			fail_msg("%s against %s", rows[i].glob, rows[i].path);
	}
}

static bool keeps(const char *text, enum glob_flavour flavour, const char *from,
		  const char *to)
{
	struct bytes before = bytes_str(from), after = bytes_str(to);
	struct glob glob;
	struct glob_fault fault;

	assert_int_equal(glob_parse(&glob, bytes_str(text), flavour, &fault),
			 0);
	return glob_keeps(&glob, from ? &before : NULL, to ? &after : NULL);
}

static void what_matches_below_a_directory_may_not_below_another(void **state)
{
	static const struct {
		const char *glob, *from, *to;
		bool keeps;
	} rows[] = {
		{"*/s/*.key", "d", "e", true},
		{"*/s/*.key", "d", "e/d", false},
		{"*/s/*.key", "d/s", "e/s", true},
		{"*/s/*.key", "d/s", "e/t", false},
		{"*/s/*.key", "d/t", "e/t", true},
		{"*/s/*.key", "d", NULL, false},
		{"*/s/*.key", "d/t", NULL, true},
		{"*/s/*.key", NULL, "d", true},
		{"**/*.key", "d", "e/f", true},
		{"**/*.key", "d", NULL, false},
		{"**/s/*.key", "d/t", "e", true},
		{"**/s/*.key", "d/s", "e", false},
		{"a/**", "a", "b", false},
		{"a/**", "a/b", "a/c/d", true},
		{"[ab]/x", "a", "b", true},
		{"[ab]/x", "a", "c", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int flavour = GLOB_POLICY; flavour <= GLOB_IGNORE;
		     flavour++)
			assert_int_equal(keeps(rows[i].glob,
					       (enum glob_flavour)flavour,
					       rows[i].from, rows[i].to),
					 rows[i].keeps);
}

static void what_can_not_be_enforced_is_refused_in_its_place(void **state)
{
	static const struct {
		const char *text, *why;
		size_t at;
	} rows[] = {
		{"./[a", "without", 2},	     {"./a**", "component", 3},
		{"./***/b", "component", 2}, {"./a\\", "nothing after", 3},
		{"./{a,b", "brace", 2},	     {"./a}", "brace", 3},
		{"./[[:no:]]", "class", 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct glob_fault fault = {0, ""};

		assert_int_equal(glob_check(bytes_str(rows[i].text), &fault),
				 -1);
		if (!strstr(fault.why, rows[i].why) || fault.at != rows[i].at)
			fail_msg("%s: %zu %s", rows[i].text, fault.at,
				 fault.why);
	}
}

static int collect(void *owner, struct bytes text)
{
	char *all = owner;
	size_t len = strlen(all);

	snprintf(all + len, 256 - len, "%.*s ", BYTES_ARGS(text));
	return 0;
}

static void braces_stand_for_each_of_their_parts(void **state)
{
	static const struct {
		const char *text, *parts;
	} rows[] = {
		{"a", "a "},
		{"{a,b}", "a b "},
		{"x{a,b}y", "xay xby "},
		{"{a,b}{c,d}", "ac ad bc bd "},
		{"{a{b,c},d}", "ab ac d "},
		{"{a,}b", "ab b "},
		{"\\{a,b\\}", "\\{a,b\\} "},
		{"{a\\,b}", "a\\,b "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char all[256] = "";
		struct glob_fault fault;

		assert_int_equal(glob_expand(bytes_str(rows[i].text), collect,
					     all, &fault),
				 0);
		assert_string_equal(all, rows[i].parts);
	}
}

static void braces_without_end_are_bounded(void **state)
{
	char text[GLOB_TEXT_MAX];
	char all[256] = "";
	struct glob_fault fault = {0, NULL};

	(void)state;
	memset(text, '{', sizeof(text));
	assert_int_equal(glob_expand(bytes_from(text, sizeof(text) - 1),
				     collect, all, &fault),
			 -1);
	assert_int_equal(
		glob_expand(bytes_str("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"),
			    collect, all, &fault),
		-1);
	assert_non_null(fault.why);
}

static void an_escaped_text_means_itself(void **state)
{
	static const char text[] = "/a [b]{c,d}*?\\e";
	char escaped[2 * sizeof(text)], plain[2 * sizeof(text)];

	(void)state;
	assert_true(glob_is_one(bytes_str(text)));
	glob_escape(bytes_str(text), escaped);
	assert_false(glob_is_one(bytes_str(escaped)));
	glob_unescape(bytes_str(escaped), plain);
	assert_string_equal(plain, text);
}

/* What makes a matcher that goes back and forth take for ever: here a
 * character costs as much as the pattern is long. */
static void many_stars_take_no_longer(void **state)
{
	char pattern[512] = "";
	char path[4096];
	struct glob glob;
	struct glob_fault fault;

	(void)state;
	for (size_t i = 0; i < sizeof(pattern) - 3; i += 2)
		memcpy(pattern + i, "*a", 3);
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = 'b';
	assert_int_equal(
		glob_parse(&glob, bytes_str(pattern), GLOB_POLICY, &fault), 0);
	assert_false(glob_matches(&glob, bytes_from(path, sizeof(path))));
	assert_true(glob_matches(&glob, bytes_from(path, sizeof(path) - 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_glob_matches_whole_paths),
		cmocka_unit_test(
			what_can_not_be_enforced_is_refused_in_its_place),
		cmocka_unit_test(
			what_matches_below_a_directory_may_not_below_another),
		cmocka_unit_test(braces_stand_for_each_of_their_parts),
		cmocka_unit_test(braces_without_end_are_bounded),
		cmocka_unit_test(an_escaped_text_means_itself),
		cmocka_unit_test(many_stars_take_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
