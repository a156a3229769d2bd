#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox-host/pattern.h"
#include "tests/unit/sandbox-host/scratch.h"

static void pattern_matches_whole_paths(void **state)
{
	static const struct {
		const char *glob, *path;
		bool matches;
	} rows[] = {
		{"/w/**/.env", "/w/.env", true},
		{"/w/**/.env", "/w/a/.env", true},
		{"/w/**/.env", "/w/a/b/c/.env", true},
		{"/w/**/.env", "/w/a/.envx", false},
		{"/w/**/.env", "/w/x.env", false},
		{"/w/**/.env", "/x/.env", false},
		{"/w/**/.env", "/wide/.env", false},
		{"/w/*.pem", "/w/a.pem", true},
		{"/w/*.pem", "/w/b/a.pem", false},
		{"/w/**", "/w/a/b", true},
		{"/w/**/b/**/c", "/w/b/c", true},
		{"/w/**/b/**/c", "/w/x/b/y/c", true},
		{"/w/**/b/**/c", "/w/x/y/c", false},
		{"/*/x", "/a/x", true},
		{"/*/x", "/a/b/x", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pattern pattern;
		struct err err;

		assert_int_equal(pattern_parse(&pattern, rows[i].glob, &err),
				 0);
		if (pattern_matches(&pattern, rows[i].path) != rows[i].matches)
			fail_msg("%s against %s", rows[i].glob, rows[i].path);
	}
}

static void pattern_refuses_a_relative_glob(void **state)
{
	struct pattern pattern;
	struct err err;

	(void)state;
	assert_int_equal(pattern_parse(&pattern, "**/x", &err), -1);
	assert_int_equal(pattern_parse(&pattern, "/**/x", &err), 0);
}

static int count(void *owner, const char *path, struct err *err)
{
	(void)path;
	(void)err;
	++*(unsigned *)owner;
	return 0;
}

static unsigned expanded(const char *glob)
{
	struct pattern pattern;
	struct err err = {0};
	unsigned found = 0;

	assert_int_equal(pattern_parse(&pattern, scratch_path(glob), &err), 0);
	if (pattern_expand(&pattern, count, count, &found, &err) < 0)
		fail_msg("%s", err.text);
	return found;
}

static void pattern_expands_to_what_exists(void **state)
{
	(void)state;
	scratch_make();
	scratch_dir("a");
	scratch_dir("a/b");
	scratch_file("a/b/k.pem");
	scratch_file("a/k.pem");
	scratch_dir("loop");
	scratch_link("loop/up", "..");
	assert_int_equal(expanded("**/*.pem"), 2);
	assert_int_equal(expanded("*/*.pem"), 1);
	assert_int_equal(expanded("*.pem"), 0);
	scratch_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern_matches_whole_paths),
		cmocka_unit_test(pattern_refuses_a_relative_glob),
		cmocka_unit_test(pattern_expands_to_what_exists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
