/*
 * Names under a wildcard are short; names that stand in the policy are not
 * asked how long they are.
 */
#include "policies.h"

#include "gateway/decide/name_check.h"

#define SIXTEEN "0123456789abcdef"

static const struct row {
	const char *name;
	bool is_fine;
} rows[] = {
	{"a.cdn.example.net", true},
	{SIXTEEN SIXTEEN SIXTEEN ".cdn.example.net", true},
	{SIXTEEN SIXTEEN SIXTEEN "0.cdn.example.net", false},
	{"a." SIXTEEN SIXTEEN SIXTEEN "0.cdn.example.net", false},
	{SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN
		 ".abcdefghijklmn.example.net",
	 true},
	{SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN
		 ".abcdefghijklmno.example.net",
	 false},
	{"api.example.com", true},
};

static void name_check_keeps_names_under_a_wildcard_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (name_check(small_policy(), bytes_str(rows[i].name)) !=
		    rows[i].is_fine)
			fail_msg("%s", rows[i].name);
}

static void name_check_lets_names_of_the_policy_be_long(void **state)
{
	static const char rule_host[] = SIXTEEN SIXTEEN SIXTEEN "0.example.net";
	static const char repo_host[] = SIXTEEN SIXTEEN SIXTEEN "0.example.org";
	struct bytes host = bytes_str(rule_host);
	const struct policy_rule rule = {.hosts = {&host, 1}};
	const struct policy_repo repo = {.host = bytes_str(repo_host)};
	const struct policy policy = {
		.rules = &rule,
		.rule_count = 1,
		.repos = &repo,
		.repo_count = 1,
	};

	(void)state;
	assert_true(name_check(&policy, host));
	assert_true(name_check(&policy, bytes_str(repo_host)));
	assert_false(name_check(&policy, bytes_str("x" SIXTEEN SIXTEEN SIXTEEN
						   ".example.net")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_check_keeps_names_under_a_wildcard_short),
		cmocka_unit_test(name_check_lets_names_of_the_policy_be_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
