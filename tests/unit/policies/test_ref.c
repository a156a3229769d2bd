#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/ref.h"

static void ref_is_valid_takes_what_git_takes_less_the_doubtful(void **state)
{
	static const struct {
		const char *ref;
		bool valid;
	} rows[] = {
		{"refs/heads/main", true},
		{"refs/heads/agent/42", true},
		{"refs/heads/a.b-c_d", true},
		{"refs/heads/@", true},
		{"refs/heads/a@b", true},
		{"refs/heads/a{b", true},
		{"refs/tags/v1.0", true},
		{"refs/pull/1/head", true},
		{"refs/heads/HEADS", true},
		{"refs/heads/HEAD", false},
		{"refs/heads/refs/heads/main", false},
		{"refs/heads/x/refs/y", false},
		{"refs/refs/x", false},
		{"HEAD", false},
		{"", false},
		{"refs", false},
		{"refs/", false},
		{"refs/heads", false},
		{"refs/heads/", false},
		{"heads/main", false},
		{"main", false},
		{"/refs/heads/main", false},
		{"refs//heads/main", false},
		{"refs/heads//main", false},
		{"refs/heads/main/", false},
		{"refs/heads/x/../main", false},
		{"refs/heads/a..b", false},
		{"refs/heads/.a", false},
		{"refs/heads/a/.b", false},
		{"refs/heads/a.", false},
		{"refs/heads/a.lock", false},
		{"refs/heads/a.lock/b", false},
		{"refs/heads/a@{b", false},
		{"refs/heads/a b", false},
		{"refs/heads/a~b", false},
		{"refs/heads/a^b", false},
		{"refs/heads/a:b", false},
		{"refs/heads/a?b", false},
		{"refs/heads/a*b", false},
		{"refs/heads/a[b", false},
		{"refs/heads/a\\b", false},
		{"refs/heads/a\x7f", false},
		{"refs/heads/a\n", false},
		{"refs/heads/a\t", false},
		{"refs/heads/\xef\xbd\x8d"
		 "ain",
		 false},
		{"refs/heads/ma\xe2\x80\x8bin", false},
		{"Refs/heads/main", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s\n", rows[i].ref);
		assert_int_equal(ref_is_valid(bytes_str(rows[i].ref)),
				 rows[i].valid);
	}
}

static void ref_is_valid_refuses_a_nul_and_long_names(void **state)
{
	uint8_t name[REF_NAME_MAX + 1];

	(void)state;
	assert_false(ref_is_valid(bytes_from("refs/heads/a\0b", 14)));
	memset(name, 'a', sizeof(name));
	memcpy(name, "refs/heads/", 11);
	assert_true(ref_is_valid(bytes_from(name, REF_NAME_MAX)));
	assert_false(ref_is_valid(bytes_from(name, REF_NAME_MAX + 1)));
}

static void ref_matches_byte_for_byte(void **state)
{
	static const struct {
		const char *pattern;
		const char *name;
		bool match;
	} rows[] = {
		{"agent/42", "agent/42", true},
		{"agent/42", "agent/421", false},
		{"agent/42", "Agent/42", false},
		{"main", "Main", false},
		{"agent/*", "agent/42", true},
		{"agent/*", "agent/42/x", false},
		{"agent/*", "agent", false},
		{"agent/**", "agent/42/x", true},
		{"agent/**", "agentx/42", false},
		{"**", "main", true},
		{"", "main", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s %s\n", rows[i].pattern, rows[i].name);
		assert_int_equal(ref_matches(bytes_str(rows[i].pattern),
					     bytes_str(rows[i].name)),
				 rows[i].match);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			ref_is_valid_takes_what_git_takes_less_the_doubtful),
		cmocka_unit_test(ref_is_valid_refuses_a_nul_and_long_names),
		cmocka_unit_test(ref_matches_byte_for_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
