#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "sandbox-host/ignore.h"

static void add(struct ignore *ignore, const char *base, unsigned kind,
		const char *text)
{
	struct err err;
	unsigned faults = 0;

	assert_int_equal(
		ignore_add(ignore, base, kind, bytes_str(text), &faults, &err),
		0);
	assert_int_equal(faults, 0);
}

static void ignore_follows_the_last_rule_that_matches(void **state)
{
	static const struct {
		const char *path;
		bool hidden;
	} rows[] = {
		{"/w/a.key", true},	 {"/w/fine.key", false},
		{"/w/sub/b.key", true},	 {"/w/sub/fine.key", true},
		{"/w/top", true},	 {"/w/sub/top", false},
		{"/w/build/x", true},	 {"/w/build", false},
		{"/w/#no", true},	 {"/w/b ", false},
		{"/other/a.key", false}, {"/w/sub/local", true},
		{"/w/local", false},	 {"/w/two", true},
		{"/w/build/fine", true},
	};
	struct ignore ignore = {0};

	(void)state;
	add(&ignore, "/w", 0,
	    "\xef\xbb\xbf*.key\r\n!fine.key\n# word\n\\#no\n/top\nbuild/\n\n");
	add(&ignore, "/w", 1, "two\n");
	/* The other kind of file shows nothing again. */
	add(&ignore, "/w", 0, "!two\n!build/fine\n");
	add(&ignore, "/w/sub", 0, "fine.key\nlocal");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (ignore_covers(&ignore, rows[i].path, false) !=
		    rows[i].hidden)
			fail_msg("%s", rows[i].path);
	assert_true(ignore_hides(&ignore, "/w/build", true));
	ignore_release(&ignore);
}

static void ignore_counts_lines_that_are_no_patterns(void **state)
{
	struct ignore ignore = {0};
	struct err err;
	unsigned faults = 0;

	(void)state;
	assert_int_equal(ignore_add(&ignore, "/w", 0,
				    bytes_str("[a\nb\\\nc\n!\n/\n"), &faults,
				    &err),
			 0);
	assert_int_equal(faults, 2);
	assert_int_equal(ignore.count, 1);
	ignore_release(&ignore);
}

static void ignore_bounds_its_rules(void **state)
{
	static char text[2 * (IGNORE_RULES_MAX + 1)];
	struct ignore ignore = {0};
	struct err err;
	unsigned faults = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "a\n", 2);
	assert_int_equal(ignore_add(&ignore, "/w", 0,
				    bytes_from(text, sizeof(text)), &faults,
				    &err),
			 -1);
	assert_non_null(strstr(err.text, "rules"));
	ignore_release(&ignore);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ignore_follows_the_last_rule_that_matches),
		cmocka_unit_test(ignore_counts_lines_that_are_no_patterns),
		cmocka_unit_test(ignore_bounds_its_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
