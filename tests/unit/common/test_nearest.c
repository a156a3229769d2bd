#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest.h"

#define LONG_BYTES (1024 * 1024)

static const char *const names[] = {"network", "name", "git", "version",
				    "a-name-that-is-longer-than-any-word-is"};

static const char *nearest_of(const char *word)
{
	return nearest(bytes_str(word), names, ARRAY_SIZE(names));
}

static void nearest_is_the_name_with_the_fewest_changes(void **state)
{
	static const struct {
		const char *word, *name; /* NULL: none */
	} rows[] = {
		{"netwrok", "network"},
		{"netwrk", "network"},
		{"NETWORK", "network"},
		{"nmae", "name"},
		{"names", "name"},
		{"gti", "git"},
		{"version", "version"},
		{"verzion", "version"},
		{"xyz", NULL},
		{"", NULL},
		{"g", NULL},
		{"hosts", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *found = nearest_of(rows[i].word);

		if (!rows[i].name && found)
			fail_msg("%s: %s", rows[i].word, found);
		if (rows[i].name)
			assert_string_equal(found, rows[i].name);
	}
}

/* Whoever writes the word may write anything. */
static void nearest_compares_no_word_that_is_long(void **state)
{
	char *word = malloc(LONG_BYTES);
	struct bytes longest = {(uint8_t *)word, NEAREST_WORD_MAX};

	(void)state;
	assert_non_null(word);
	memset(word, 'a', LONG_BYTES);
	assert_null(nearest(longest, names, ARRAY_SIZE(names)));
	longest.len = NEAREST_WORD_MAX + 1;
	assert_null(nearest(longest, names, ARRAY_SIZE(names)));
	longest.len = LONG_BYTES;
	assert_null(nearest(longest, names, ARRAY_SIZE(names)));
	/* Nor any name. */
	assert_null(nearest_of("a-name-that-is-longer-than-any-w"));
	memcpy(word, "--", 2);
	assert_int_equal(nearest_option(longest, "--aaaaaaaa").len, 0);
	free(word);
}

static void nearest_option_is_one_that_the_help_names(void **state)
{
	static const char help[] = "Usage: x [--policy FILE | --settings FILE]"
				   " [--] WORD\n\n  --policy FILE  what\n";
	static const struct {
		const char *word, *option; /* "": none */
	} rows[] = {
		{"--polcy", "--policy"},
		{"--polici=a.yaml", "--policy"},
		{"--setings", "--settings"},
		{"--policy", "--policy"},
		{"polcy", ""},
		{"-polcy", ""},
		{"--", ""},
		{"--=x", ""},
		{"--nonsense", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes found =
			nearest_option(bytes_str(rows[i].word), help);

		assert_int_equal(found.len, strlen(rows[i].option));
		assert_true(bytes_is(found, rows[i].option));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_is_the_name_with_the_fewest_changes),
		cmocka_unit_test(nearest_compares_no_word_that_is_long),
		cmocka_unit_test(nearest_option_is_one_that_the_help_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
