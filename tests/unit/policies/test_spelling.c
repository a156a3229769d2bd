#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/spelling.h"

static void a_name_that_some_server_takes_for_another_matches_it(void **state)
{
	static const struct {
		enum spelling kind;
		const char *name, *wanted;
		bool matches;
	} rows[] = {
		{SPELLING_KEY, "base", "base", true},
		{SPELLING_KEY, "BaSe", "base", true},
		{SPELLING_KEY,
		 "ba\xc5\xbf"
		 "e",
		 "base", true},
		{SPELLING_KEY,
		 "\xe2\x84\xaa"
		 "ey",
		 "key", true},
		{SPELLING_KEY,
		 "\xc4\xb1"
		 "d",
		 "id", true},
		{SPELLING_KEY,
		 "\xc4\xb0"
		 "d",
		 "id", true},
		{SPELLING_KEY, "id",
		 "\xc4\xb0"
		 "d",
		 true},
		{SPELLING_KEY, "\xc5", "s", false},
		{SPELLING_KEY, "bas", "base", false},
		{SPELLING_KEY, "bases", "base", false},
		{SPELLING_KEY, "", "base", false},
		{SPELLING_KEY, "", "", true},
		{SPELLING_KEY, " base", "base", false},
		{SPELLING_KEY, "a.b", "a_b", false},
		{SPELLING_KEY, "base[]", "base", false},
		{SPELLING_PARAMETER, "BASE", "base", true},
		{SPELLING_PARAMETER, "  base", "base", true},
		{SPELLING_PARAMETER, "base ", "base", false},
		{SPELLING_PARAMETER, " base", " base", true},
		{SPELLING_PARAMETER, "a.b", "a_b", true},
		{SPELLING_PARAMETER, "a b", "a_b", true},
		{SPELLING_PARAMETER, "a-b", "a_b", false},
		{SPELLING_PARAMETER, "a[b", "a_b", true},
		{SPELLING_PARAMETER, "base[]", "base", true},
		{SPELLING_PARAMETER, "base[x]", "base", true},
		{SPELLING_PARAMETER, "bases[]", "base", false},
		{SPELLING_PARAMETER, "a[b]", "a[b]", true},
		{SPELLING_PARAMETER, "a[c]", "a[b]", false},
		{SPELLING_PARAMETER, "a", "a[b]", false},
		{SPELLING_HEADER, "X_Debug", "x-debug", true},
		{SPELLING_HEADER, "x-debug", "X_DEBUG", true},
		{SPELLING_HEADER, "xdebug", "x-debug", false},
		{SPELLING_HEADER, "x.debug", "x-debug", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool matches =
			spelling_matches(rows[i].kind, bytes_str(rows[i].name),
					 bytes_str(rows[i].wanted));

		if (matches != rows[i].matches)
			print_error("%s, %s\n", rows[i].name, rows[i].wanted);
		assert_int_equal(matches, rows[i].matches);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_name_that_some_server_takes_for_another_matches_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
