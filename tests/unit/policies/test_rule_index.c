#include "policies/rule_index.h"

#include "policy_of.h"

#define RULES 400

static const char *const hosts[] = {
	"a.example",	 "b.a.example",
	"c.b.a.example", "*.a.example",
	"*.b.a.example", "*.example.net",
	"x.example.net", "*",
	"10.0.0.1",	 "2001:db8::1",
	"z.example",	 "a.b.c.d.e.f.g.example.net",
	"10.0.0.0/30",	 "2001:db8::/32",
};

static const char *const asked[] = {
	"a.example",	 "b.a.example",
	"c.b.a.example", "d.c.b.a.example",
	"x.example.net", "y.example.net",
	"example.net",	 "nobody.example",
	"10.0.0.1",	 "10.0.0.2",
	"10.0.0.4",	 "2001:db8::1",
	"z.example",	 "a.b.c.d.e.f.g.example.net",
};

/* The same numbers in each run. */
static unsigned draw(unsigned max)
{
	static uint32_t seed = 12345;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % max;
}

static void add_rule(struct buf *text)
{
	bool allow = draw(3) > 0;
	const char *one = hosts[draw(ARRAY_SIZE(hosts))];
	const char *two = hosts[draw(ARRAY_SIZE(hosts))];

	buf_add_format(text, "  - {action: %s", allow ? "allow" : "deny");
	if (allow || draw(20))
		buf_add_format(text, ", hosts: ['%s', '%s']", one, two);
	if (draw(8))
		buf_add_format(text, ", paths: [/%u]", draw(6));
	if (draw(2))
		buf_add_format(text, ", methods: [%s]",
			       draw(2) ? "GET" : "POST");
	if (draw(4) == 0)
		buf_add_str(text, draw(2) ? ", ports: [8443]" : ", ports: any");
	buf_add_str(text, "}\n");
}

static struct policy *make(size_t rules)
{
	struct policy *policy;
	struct buf text;

	buf_init(&text, POLICY_TEXT_MAX);
	buf_add_str(&text, "version: 1\nnetwork:\n  rules:\n");
	for (size_t i = 0; i < rules; i++)
		add_rule(&text);
	policy = policy_of(buf_str(&text));
	buf_release(&text);
	return policy;
}

static void assert_same(const struct verdict *a, const struct verdict *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->constraint, b->constraint);
	assert_true(bytes_equal(a->rule, b->rule));
	assert_int_equal(a->inspect, b->inspect);
}

/* A trace asks every rule; without one the index is used. */
static size_t compare(const struct policy *policy, const char *host,
		      struct buf *trace)
{
	size_t allowed = 0;

	for (unsigned i = 0; i < 2 * 2 * 8; i++) {
		char path[8];
		struct request_facts facts = {
			.target = target_of(host, i & 1 ? 443 : 8443),
			.is_tls = true,
			.method = bytes_str(i & 2 ? "GET" : "PUT"),
		};
		struct verdict fast;
		struct verdict slow;

		snprintf(path, sizeof(path), "/%u", i / 4);
		facts.path = bytes_str(path);
		fast = decide_request(policy, &facts, NULL);
		slow = decide_request(policy, &facts, trace);
		assert_same(&fast, &slow);
		allowed += fast.kind == VERDICT_ALLOW;
		fast = decide_target(policy, &facts.target, NULL);
		slow = decide_target(policy, &facts.target, trace);
		assert_same(&fast, &slow);
		buf_clear(trace);
	}
	return allowed;
}

static void the_index_changes_no_verdict(void **state)
{
	struct buf trace;
	size_t allowed = 0;

	(void)state;
	buf_init(&trace, 65536);
	for (int round = 0; round < 10; round++) {
		struct policy *policy = make(RULES);

		assert_non_null(policy->index);
		for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
			allowed += compare(policy, asked[i], &trace);
		policy_free(policy);
	}
	assert_true(allowed > 100);
	buf_release(&trace);
}

static void the_index_knows_the_hosts_that_rules_name(void **state)
{
	static const size_t counts[] = {1, 8, RULES};
	size_t named = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct policy *policy = make(counts[i]);
		struct policy slow = *policy;

		slow.index = NULL;
		assert_int_equal(policy->index != NULL, counts[i] == RULES);
		for (size_t j = 0; j < ARRAY_SIZE(asked); j++) {
			struct bytes host = bytes_str(asked[j]);

			assert_int_equal(rules_name_host(policy, host),
					 rules_name_host(&slow, host));
			named += rules_name_host(policy, host);
		}
		assert_false(rules_name_host(policy, bytes_str("zz.example")));
		assert_false(rules_name_host(policy, bytes_str("")));
		policy_free(policy);
	}
	assert_true(named >= 8 && named < 3 * ARRAY_SIZE(asked));
}

static void the_index_gives_each_rule_once_and_in_order(void **state)
{
	struct policy *policy = make(RULES);
	const struct policy_rule *last = NULL;
	const struct policy_rule *rule;
	struct candidates candidates;
	size_t count = 0;

	(void)state;
	candidates_init(&candidates, policy, bytes_str("c.b.a.example"), false);
	while ((rule = candidates_next(&candidates))) {
		assert_true(!last || rule > last);
		last = rule;
		count++;
	}
	assert_true(count > 10 && count < RULES);
	policy_free(policy);
}

static void a_small_policy_has_no_index(void **state)
{
	struct policy *policy = make(10);

	(void)state;
	assert_null(policy->index);
	policy_free(policy);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_index_changes_no_verdict),
		cmocka_unit_test(the_index_knows_the_hosts_that_rules_name),
		cmocka_unit_test(the_index_gives_each_rule_once_and_in_order),
		cmocka_unit_test(a_small_policy_has_no_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
