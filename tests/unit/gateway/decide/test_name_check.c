/*
 * Names under a wildcard are short and no data; names that stand in the
 * policy are not asked what they tell.
 */
#include "policies.h"

#include "gateway/decide/name_check.h"

#define SIXTEEN	  "aaaaaaaaaaaaaaaa"
#define FORTY_TWO "k3q7z2x9v4m1w8r5t6y0pbngdhjsfclaeiou37x2q9"

/* The small policy, whose labels may tell that much. */
static struct policy measured(uint64_t label_bits)
{
	struct policy policy = *small_policy();

	policy.network_limits.wildcard_label_bits = label_bits;
	return policy;
}

static const struct row {
	const char *name;
	bool is_fine;
} rows[] = {
	{"a.cdn.example.net", true},
	{SIXTEEN SIXTEEN SIXTEEN ".cdn.example.net", true},
	{SIXTEEN SIXTEEN SIXTEEN "0.cdn.example.net", false},
	{"a." SIXTEEN SIXTEEN SIXTEEN "0.cdn.example.net", false},
	{"a." SIXTEEN SIXTEEN SIXTEEN "0", false},
	{SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN
		 ".abcdefghijklmn.example.net",
	 true},
	{SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN "." SIXTEEN
		 ".abcdefghijklmno.example.net",
	 false},
	{"api.example.com", true},
	/* what is random */
	{FORTY_TWO ".cdn.example.net", false},
	{"a." FORTY_TWO ".b.cdn.example.net", false},
	{FORTY_TWO ".elsewhere.net", false},
	{"0b87c63e-29fd-41a5-8e4d-96f2a07b3c1d.cdn.example.net", true},
	{"my-app-git-main-some-team.cdn.example.net", true},
	{"productionproductionproductionproduction.cdn.example.net", true},
};

static void name_under_a_wildcard_is_short_and_no_data(void **state)
{
	const struct policy policy = measured(160);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!name_fault(&policy, bytes_str(rows[i].name)) !=
		    rows[i].is_fine)
			fail_msg("%s", rows[i].name);
}

static void name_may_tell_more_where_the_policy_says_so(void **state)
{
	const struct policy strict = measured(32), lax = measured(512);

	(void)state;
	assert_null(name_fault(&lax, bytes_str(FORTY_TWO ".cdn.example.net")));
	assert_non_null(name_fault(
		&strict, bytes_str("some-team-of-ours.cdn.example.net")));
	assert_null(name_fault(&strict, bytes_str("img.cdn.example.net")));
}

static void name_of_the_policy_is_not_asked_what_it_tells(void **state)
{
	static const char rule_host[] = SIXTEEN SIXTEEN SIXTEEN "0.example.net";
	static const char repo_host[] = FORTY_TWO ".example.org";
	struct bytes host = bytes_str(rule_host);
	const struct policy_rule rule = {.hosts = {&host, 1}};
	const struct policy_repo repo = {.host = bytes_str(repo_host)};
	const struct policy policy = {
		.rules = &rule,
		.rule_count = 1,
		.repos = &repo,
		.repo_count = 1,
		.network_limits.wildcard_label_bits = 160,
	};

	(void)state;
	assert_null(name_fault(&policy, host));
	assert_null(name_fault(&policy, bytes_str(repo_host)));
	assert_int_equal(name_bits(&policy, host), 0);
	assert_int_equal(name_bits(&policy, bytes_str(repo_host)), 0);
	assert_non_null(name_fault(
		&policy,
		bytes_str("x" SIXTEEN SIXTEEN SIXTEEN ".example.net")));
}

static void bits_are_counted_where_the_wildcard_leaves_room(void **state)
{
	static const struct {
		const char *name;
		unsigned from, to;
	} told[] = {
		{"a.cdn.example.net", NAME_BITS_MIN, NAME_BITS_MIN},
		{"aaaaaaaaaaaa.cdn.example.net", NAME_BITS_MIN, NAME_BITS_MIN},
		/* sixteen letters of four bits each, and its own dot */
		{"0123456789abcdef.cdn.example.net", 64, 70},
		{"01234567.89abcdef.cdn.example.net", 64, 75},
		{FORTY_TWO ".cdn.example.net", 190, 220},
		/* below no wildcard of the policy: all of it */
		{"0123456789abcdef.net", 70, 90},
		{"api.example.com", 0, 0},
	};
	const struct policy policy = measured(160);

	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		unsigned bits = name_bits(&policy, bytes_str(told[i].name));

		if (bits < told[i].from || bits > told[i].to)
			fail_msg("%s: %u bits", told[i].name, bits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_under_a_wildcard_is_short_and_no_data),
		cmocka_unit_test(name_may_tell_more_where_the_policy_says_so),
		cmocka_unit_test(name_of_the_policy_is_not_asked_what_it_tells),
		cmocka_unit_test(
			bits_are_counted_where_the_wildcard_leaves_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
