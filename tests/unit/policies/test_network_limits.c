#include "policy_of.h"

#define LIMITS(text) "version: 1\nnetwork:\n  limits: {" text "}\n"

static void network_limits_have_their_defaults(void **state)
{
	struct policy *policy = policy_of("version: 1\n");
	const struct network_limits *limits = &policy->network_limits;

	(void)state;
#define X(field, key, kind, standard, min, cap, what)                          \
	assert_int_equal(limits->field, standard);                             \
	assert_true((min) <= (standard) && (standard) <= (cap));
	NETWORK_LIMITS(X)
#undef X
	policy_free(policy);
}

static void network_limits_are_what_the_policy_says(void **state)
{
	struct policy *policy = policy_of(
		LIMITS("connections: 20, header: 16KiB, fields: 50, "
		       "held: 1MiB, idle: 30s, handshake: 5s, response: 7s, "
		       "dns-names: 60, minted-names: 30, wildcard-names: 9, "
		       "wildcard-bits: 99, wildcard-label-bits: 40"));
	const struct network_limits *limits = &policy->network_limits;

	(void)state;
	assert_int_equal(limits->connections, 20);
	assert_int_equal(limits->header_bytes, 16 * 1024);
	assert_int_equal(limits->fields, 50);
	assert_int_equal(limits->held_bytes, 1024 * 1024);
	assert_int_equal(limits->idle_ms, 30000);
	assert_int_equal(limits->handshake_ms, 5000);
	assert_int_equal(limits->response_ms, 7000);
	assert_int_equal(limits->dns_names, 60);
	assert_int_equal(limits->minted_names, 30);
	assert_int_equal(limits->wildcard_names, 9);
	assert_int_equal(limits->wildcard_bits, 99);
	assert_int_equal(limits->wildcard_label_bits, 40);
	policy_free(policy);
}

static const struct row {
	const char *text;
	const char *told; /* NULL: it is right */
} rows[] = {
	{LIMITS(""), NULL},
	{LIMITS("fields: 100"), NULL},
	{LIMITS("fields: 101"), "must be a number from 10 to 100"},
	{LIMITS("fields: 9"), "must be a number from 10 to 100"},
	{LIMITS("connections: 0"), "must be a number from 1 to 100000"},
	{LIMITS("header: 32KiB"), NULL},
	{LIMITS("header: 33KiB"), "must be from 1024 to 32768 bytes"},
	{LIMITS("header: 1000"), "p.yaml:3:20: "},
	{LIMITS("held: 256MiB"), NULL},
	{LIMITS("held: 257MiB"), "must be from 65536 to 268435456 bytes"},
	{LIMITS("idle: 999ms"), "must be from 1000 to 3600000 ms"},
	{LIMITS("idle: 1h"), NULL},
	{LIMITS("handshake: 2m"), "must be from 1000 to 60000 ms"},
	{LIMITS("response: 301s"), "must be from 1000 to 300000 ms"},
	{LIMITS("dns-names: 6001"), "must be a number from 1 to 6000"},
	{LIMITS("dns_names: 60"), "did you mean \"dns-names\"?"},
	{LIMITS("wildcard-names: 0"), "must be a number from 1 to 6000"},
	{LIMITS("wildcard-bits: 63"), "must be a number from 64 to 1048576"},
	{LIMITS("wildcard-label-bits: 513"), "must be a number from 32 to 512"},
	{LIMITS("memory: 1GiB"), "unknown key \"memory\""},
	{"version: 1\nnetwork:\n  limits: 5\n", "this must be a map"},
};

static void network_limits_never_pass_their_caps(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		size_t count;
		struct policy *policy = policy_try(rows[i].text, &told, &count);

		assert_int_equal(policy == NULL, rows[i].told != NULL);
		if (rows[i].told && !strstr(buf_str(&told), rows[i].told))
			fail_msg("%s: told %s", rows[i].text, buf_str(&told));
		buf_release(&told);
		policy_free(policy);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(network_limits_have_their_defaults),
		cmocka_unit_test(network_limits_are_what_the_policy_says),
		cmocka_unit_test(network_limits_never_pass_their_caps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
