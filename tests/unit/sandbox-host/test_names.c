#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sandbox-host/names.h"
#include "sandbox-host/plan_parts.h"

static struct names names_of(const char *const *texts, size_t count)
{
	struct names names = {0};
	struct err err;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(names_add(&names, texts[i], &err), 0);
	return names;
}

static void names_without_a_name_cover_nothing(void **state)
{
	const struct names none = {0};

	(void)state;
	assert_false(names_cover(&none, "/"));
	assert_false(names_cover(&none, "/w"));
	assert_false(names_are_below(&none, "/"));
}

static void names_with_the_root_cover_all(void **state)
{
	static const char *const texts[] = {"/"};
	struct names names = names_of(texts, 1);

	(void)state;
	assert_true(names_cover(&names, "/"));
	assert_true(names_cover(&names, "/w/x"));
	assert_true(names_are_below(&names, "/"));
	assert_false(names_are_below(&names, "/w"));
	names_release(&names);
}

/* A path of up to four short names, the n-th. */
static void path_of(unsigned n, char out[64])
{
	static const char *const parts[] = {"", "/a", "/b", "/ab", "/.a"};

	(void)snprintf(out, 64, "%s%s%s%s", parts[n % 5], parts[n / 5 % 5],
		       parts[n / 25 % 5], parts[n / 125 % 5]);
	if (!out[0])
		(void)snprintf(out, 64, "/");
}

#define PATHS 625

/* However many there are: the same as by a look at each. */
static void names_say_what_a_look_at_each_says(void **state)
{
	static char texts[PATHS][64];
	const char *few[PATHS];
	size_t count = 0;
	struct names names;

	(void)state;
	for (unsigned i = 1; i < PATHS; i += 7) {
		path_of(i, texts[i]);
		few[count++] = texts[i];
	}
	names = names_of(few, count);
	for (unsigned i = 0; i < PATHS; i++) {
		char path[64];
		bool covered = false, above = false;

		path_of(i, path);
		for (size_t k = 0; k < count; k++) {
			covered |= plan_is_within(path, few[k]);
			above |= plan_is_within(few[k], path);
		}
		if (names_cover(&names, path) != covered ||
		    names_are_below(&names, path) != above)
			fail_msg("%s", path);
	}
	names_release(&names);
}

static void names_refuse_a_long_one(void **state)
{
	static char text[PATH_MAX + 1];
	struct names names = {0};
	struct err err;

	(void)state;
	memset(text, 'x', PATH_MAX);
	text[0] = '/';
	assert_int_equal(names_add(&names, text, &err), -1);
	text[PATH_MAX - 1] = '\0';
	assert_int_equal(names_add(&names, text, &err), 0);
	assert_true(names_cover(&names, text));
	names_release(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_without_a_name_cover_nothing),
		cmocka_unit_test(names_with_the_root_cover_all),
		cmocka_unit_test(names_say_what_a_look_at_each_says),
		cmocka_unit_test(names_refuse_a_long_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
