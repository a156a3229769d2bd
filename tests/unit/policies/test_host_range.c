#include "policies/host_range.h"

#include "policies/guardrail.h"
#include "policies/host.h"
#include "policies/scope.h"
#include "policy_of.h"

#define ONE_ARENA_MAX (64 * 1024)

#define RULES(text) "version: 1\nnetwork:\n  rules:\n" text

static void a_range_has_one_form(void **state)
{
	static const struct {
		const char *in, *out; /* NULL: none */
	} rows[] = {
		{"10.2.0.0/16", "10.2.0.0/16"},
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"192.0.2.1/32", "192.0.2.1/32"},
		{"2001:DB8:0::/32", "2001:db8::/32"},
		{"::/0", "::/0"},
		{"::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104"},
		{"10.2.0.1/16", NULL},
		{"10.2.0.0/33", NULL},
		{"10.2.0.0/", NULL},
		{"10.2.0.0", NULL},
		{"/8", NULL},
		{"10.2.0/16", NULL},
		{"010.2.0.0/16", NULL},
		{"a.example/16", NULL},
		{"2001:db8::/129", NULL},
		{"2001:db8::1/32", NULL},
		{"10.2.0.0/1 6", NULL},
		{"10.0.0.0/8/8", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena;
		struct bytes out = {NULL, 0};
		struct err err;
		int result;

		arena_init(&arena, ONE_ARENA_MAX);
		result = host_range_pattern(&arena, bytes_str(rows[i].in), &out,
					    &err);
		print_message("%s\n", rows[i].in);
		assert_int_equal(result, rows[i].out ? 0 : -1);
		if (rows[i].out)
			assert_true(bytes_is(out, rows[i].out));
		arena_release(&arena);
	}
}

static void a_range_matches_its_addresses_and_no_name(void **state)
{
	static const struct {
		const char *range, *host;
		bool matches;
	} rows[] = {
		{"10.2.0.0/16", "10.2.255.255", true},
		{"10.2.0.0/16", "10.3.0.0", false},
		{"10.2.0.0/15", "10.3.0.0", true},
		{"10.2.0.0/16", "::ffff:10.2.0.1", true},
		{"10.2.0.0/16", "10.2.0.0/24", true},
		{"10.2.0.0/16", "10.0.0.0/8", false},
		{"10.2.0.0/16", "10.2.example", false},
		{"0.0.0.0/0", "8.8.8.8", true},
		{"0.0.0.0/0", "2001:db8::1", false},
		{"::/0", "2001:db8::1", true},
		{"::/0", "8.8.8.8", false},
		{"::/0", "::ffff:8.8.8.8", false},
		{"2001:db8::/33", "2001:db8:7fff::1", true},
		{"2001:db8::/33", "2001:db8:8000::1", false},
		{"192.0.2.1/32", "192.0.2.1", true},
		{"192.0.2.1/32", "192.0.2.2", false},
		{"*", "10.2.0.0/16", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s %s\n", rows[i].range, rows[i].host);
		assert_int_equal(host_matches(bytes_str(rows[i].range),
					      bytes_str(rows[i].host)),
				 rows[i].matches);
	}
}

static void a_range_has_two_ends(void **state)
{
	uint8_t first[16], last[16];

	(void)state;
	assert_int_equal(host_range_ends(bytes_str("10.2.0.0/15"), first, last),
			 0);
	assert_memory_equal(first + 10, "\xff\xff\x0a\x02\0\0", 6);
	assert_memory_equal(last + 10, "\xff\xff\x0a\x03\xff\xff", 6);
	assert_int_equal(host_range_ends(bytes_str("10.2.0.1"), first, last),
			 0);
	assert_memory_equal(first, last, sizeof(first));
	assert_int_equal(host_range_ends(bytes_str("10.2.0.1/15"), first, last),
			 -1);
	assert_int_equal(host_range_ends(bytes_str("a.example"), first, last),
			 -1);
}

/* What rules of ranges and of any port say, and what keepers let pass. */
static void rules_know_ranges_and_every_port(void **state)
{
	static const char text[] = RULES(
		"  - {hosts: [a.example], ports: any, action: allow}\n"
		"  - {hosts: [203.0.113.7], ports: [22], action: deny}\n"
		"  - {hosts: [203.0.113.0/24, '2001:db8::/32'], ports: any, "
		"action: allow}\n"
		"  - {hosts: [192.0.2.0/24], action: allow}\n");
	static const struct {
		const char *host;
		uint16_t port;
		enum constraint constraint;
	} rows[] = {
		{"a.example", 443, CONSTRAINT_none},
		{"a.example", 5432, CONSTRAINT_none},
		{"a.example", 65535, CONSTRAINT_none},
		{"b.example", 443, CONSTRAINT_host_not_allowed},
		{"203.0.113.7", 443, CONSTRAINT_none},
		{"203.0.113.7", 22, CONSTRAINT_denied_by_rule},
		{"203.0.113.8", 22, CONSTRAINT_none},
		{"203.0.114.1", 22, CONSTRAINT_host_not_allowed},
		{"2001:db8:1::1", 9000, CONSTRAINT_none},
		{"2001:db9::1", 9000, CONSTRAINT_host_not_allowed},
		{"192.0.2.9", 80, CONSTRAINT_none},
		{"192.0.2.9", 81, CONSTRAINT_port_not_allowed},
	};
	struct policy *policy = policy_of(text);
	struct arena arena;
	struct scope scope;
	struct err err;

	(void)state;
	arena_init(&arena, ONE_ARENA_MAX);
	assert_int_equal(scope_from_policy(policy, &arena, &scope, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target_facts facts =
			target_of(rows[i].host, rows[i].port);
		struct verdict verdict = decide_target(policy, &facts, NULL);

		print_message("%s:%u\n", rows[i].host, rows[i].port);
		assert_int_equal(verdict.constraint, rows[i].constraint);
		if (rows[i].constraint == CONSTRAINT_none)
			assert_true(scope_allows_target(&scope, facts.host,
							facts.port));
		if (rows[i].constraint == CONSTRAINT_host_not_allowed)
			assert_false(scope_allows_target(&scope, facts.host,
							 facts.port));
	}
	assert_false(scope_allows_target(&scope, bytes_str("192.0.2.9"), 81));
	assert_false(
		scope_allows_target(&scope, bytes_str("a.example"), 0) &&
		decide_target(policy,
			      &(struct target_facts){bytes_str("a.example"), 0},
			      NULL)
				.kind == VERDICT_ALLOW);
	arena_release(&arena);
	policy_free(policy);
}

static void a_guardrail_leaves_of_ranges_and_ports_what_both_have(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool allowed;
	} rows[] = {
		{"10.2.3.4", 443, true},    {"10.2.3.4", 22, false},
		{"10.9.3.4", 443, false},   {"192.0.2.1", 8443, true},
		{"192.0.2.1", 8444, false}, {"192.0.3.1", 8443, false},
	};
	static const char guardrail[] =
		RULES("  - {hosts: [10.2.0.0/16], action: allow}\n"
		      "  - {hosts: [192.0.2.1], ports: any, action: allow}\n");
	static const char text[] = RULES(
		"  - {hosts: [10.0.0.0/8], ports: any, action: allow}\n"
		"  - {hosts: [192.0.2.0/23], ports: [8443], action: allow}\n");
	struct policy_errors errors = {.file = "p.yaml"};
	struct policy *policy =
		guarded_compile(bytes_str(text), bytes_str(guardrail),
				&test_variables, &errors);
	struct arena arena;
	struct scope scope;
	struct err err;

	(void)state;
	assert_non_null(policy);
	arena_init(&arena, ONE_ARENA_MAX);
	assert_int_equal(scope_from_policy(policy, &arena, &scope, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target_facts facts =
			target_of(rows[i].host, rows[i].port);

		print_message("%s:%u\n", rows[i].host, rows[i].port);
		assert_int_equal(
			scope_allows_target(&scope, facts.host, facts.port),
			rows[i].allowed);
		assert_int_equal(decide_target(policy, &facts, NULL).kind ==
					 VERDICT_ALLOW,
				 rows[i].allowed);
	}
	arena_release(&arena);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_has_one_form),
		cmocka_unit_test(a_range_matches_its_addresses_and_no_name),
		cmocka_unit_test(a_range_has_two_ends),
		cmocka_unit_test(rules_know_ranges_and_every_port),
		cmocka_unit_test(
			a_guardrail_leaves_of_ranges_and_ports_what_both_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
