#include "policy_of.h"

#define LIMITS(text)  "version: 1\nlimits: {" text "}\n"
#define REQUIRE(text) "version: 1\nrequire: " text "\n"
#define QUIET(text)   "version: 1\nignore-violations: " text "\n"

/* What is wrong, and its twin that is not: told is NULL there. */
static const struct row {
	const char *text;
	const char *told;
} rows[] = {
	{LIMITS("memory: 4GiB, processes: 512, time: 2h"), NULL},
	{LIMITS("memory: 4GB"), "this must be a size"},
	{LIMITS("memory: 4096"), "this must be a size"},
	{LIMITS("memory: 0GiB"), "this must be a size"},
	{LIMITS("memory: 1.5GiB"), "this must be a size"},
	{LIMITS("memory: -1GiB"), "this must be a size"},
	{LIMITS("memory: 99999999999TiB"), "this must be a size"},
	{LIMITS("memory: GiB"), "this must be a size"},
	{LIMITS("time: 90"), "this must be a time"},
	{LIMITS("time: 1 h"), "this must be a time"},
	{LIMITS("time: 0s"), "this must be a time"},
	{LIMITS("processes: 0"), "a number from 1"},
	{LIMITS("processes: 1e3"), "a number from 1"},
	{LIMITS("cpu: 2, disk: 10GiB, files: 1024"), NULL},
	{LIMITS("cpu: 0.5"), NULL},
	{LIMITS("cpu: 0.125"), NULL},
	{LIMITS("cpu: 0"), "a number of cores"},
	{LIMITS("cpu: 0.001"), "a number of cores"},
	{LIMITS("cpu: 0.1255"), "a number of cores"},
	{LIMITS("cpu: .5"), "a number of cores"},
	{LIMITS("cpu: 2."), "a number of cores"},
	{LIMITS("cpu: 1025"), "a number of cores"},
	{LIMITS("cpu: 500m"), "a number of cores"},
	{LIMITS("disk: 10"), "this must be a size"},
	{LIMITS("files: 15"), "a number from 16"},
	{REQUIRE("[landlock-6, freezer, user-namespaces, nftables]"), NULL},
	{REQUIRE("[limits.memory]"), "does not say how much"},
	{"version: 1\nrequire: [limits.memory]\nlimits: {memory: 1GiB}\n",
	 NULL},
	{REQUIRE("[landlock-0]"), "an ABI of Landlock"},
	{REQUIRE("[landlock-100]"), "an ABI of Landlock"},
	{REQUIRE("[landlock-]"), "an ABI of Landlock"},
	{REQUIRE("[freezr]"), "did you mean \"freezer\"?"},
	{REQUIRE("freezer"), "this must be a list"},
	{QUIET("['write to /proc/*', telemetry.example]"), NULL},
	{QUIET("['* *']"), "would hide every violation"},
	{QUIET("['']"), "would hide every violation"},
	{QUIET("[{a: b}]"), "this must be one value"},
};

static void limits_tell_what_is_wrong(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		struct policy *policy = policy_try(rows[i].text, &told, NULL);

		if (rows[i].told ? !strstr(buf_str(&told), rows[i].told)
				 : !policy) {
			print_error("%s%s", rows[i].text, buf_str(&told));
			wrong++;
		}
		policy_free(policy);
		buf_release(&told);
	}
	assert_int_equal(wrong, 0);
}

static void limits_and_what_is_required_are_read(void **state)
{
	struct policy *policy =
		policy_of("version: 1\n"
			  "limits: {cpu: 1.5, disk: 1MiB, files: 99}\n"
			  "require: [landlock-3, landlock-2, limits.cpu]\n");

	(void)state;
	assert_int_equal(policy->limits.cpu_milli, 1500);
	assert_int_equal(policy->limits.disk_bytes, 1 << 20);
	assert_int_equal(policy->limits.files, 99);
	assert_int_equal(policy->limits.memory_bytes, 0);
	assert_int_equal(policy->require.landlock, 3);
	assert_true(policy->require.cpu && !policy->require.memory);
	policy_free(policy);
	policy = policy_of("version: 1\nlimits: {cpu: 0.05}\n");
	assert_int_equal(policy->limits.cpu_milli, 50);
	assert_int_equal(policy->require.landlock, 0);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_tell_what_is_wrong),
		cmocka_unit_test(limits_and_what_is_required_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
