/* What a refused agent is told. */
#include <stdio.h>

#include "gateway/decide/advice.h"

#include "common/cleanup.h"
#include "policies.h"

static bool allows(const struct refusal *refusal, const char *entry)
{
	for (size_t i = 0; i < refusal->allowed_count; i++)
		if (bytes_is(refusal->allowed[i], entry))
			return true;
	return false;
}

static struct refusal of_target(struct arena *arena, const char *host,
				uint16_t port)
{
	struct target target = target_at(host, port, SCHEME_HTTPS);
	struct verdict verdict = target_check(small_policy(), &target);

	return advice_target(small_policy(), &target, &verdict, arena);
}

static struct refusal of_request(struct arena *arena, const char *method,
				 const char *path)
{
	struct target target = target_at("api.example.com", 443, SCHEME_HTTPS);
	struct request request = request_for(method, "api.example.com", path);
	struct verdict verdict =
		request_check(small_policy(), &target, &request);

	return advice_request(small_policy(), &target, &request, &verdict,
			      arena);
}

static void advice_lists_hosts_of_the_family_first(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct refusal refusal;

	(void)state;
	arena_init(&arena, ADVICE_ARENA_BYTES);
	refusal = of_target(&arena, "x.y.example.net", 443);
	assert_int_equal(refusal.constraint, CONSTRAINT_host_not_allowed);
	assert_true(bytes_is(refusal.rule, "default"));
	assert_true(bytes_is(refusal.detail, "no rule allows this host: "
					     "x.y.example.net:443"));
	assert_int_equal(refusal.allowed_count, 2);
	assert_true(bytes_is(refusal.allowed[0], "*.cdn.example.net"));
	assert_true(bytes_is(refusal.allowed[1], "api.example.com"));
	assert_true(refusal.try_instead.len > 0);
}

static void advice_lists_ports_of_the_host(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct refusal refusal;

	(void)state;
	arena_init(&arena, ADVICE_ARENA_BYTES);
	refusal = of_target(&arena, "x.cdn.example.net", 22);
	assert_int_equal(refusal.constraint, CONSTRAINT_port_not_allowed);
	assert_true(allows(&refusal, "x.cdn.example.net:8443"));
	arena_reset(&arena);
	refusal = of_target(&arena, "api.example.com", 22);
	assert_true(allows(&refusal, "api.example.com:443"));
}

static void advice_lists_requests_near_the_refused_one(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct refusal refusal;

	(void)state;
	arena_init(&arena, ADVICE_ARENA_BYTES);
	refusal = of_request(&arena, "PUT", "/repos/acme/x");
	assert_int_equal(refusal.allowed_count, 2);
	assert_true(allows(&refusal, "GET /repos/acme/**"));
	assert_true(allows(&refusal, "HEAD /repos/acme/**"));
	arena_reset(&arena);
	refusal = of_request(&arena, "GET", "/other");
	assert_int_equal(refusal.allowed_count, 1);
	assert_true(allows(&refusal, "GET /repos/acme/**"));
	assert_true(bytes_is(refusal.detail,
			     "no rule allows this path: GET /other on "
			     "api.example.com"));
}

static void advice_repeats_the_rules_own_words(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct refusal refusal;

	(void)state;
	arena_init(&arena, ADVICE_ARENA_BYTES);
	refusal = of_request(&arena, "POST", "/repos/acme/x");
	assert_true(bytes_is(refusal.rule, "no-posts"));
	assert_true(bytes_is(refusal.detail, "this session only reads"));
	assert_int_equal(refusal.allowed_count, 0);
}

static void advice_stays_within_its_arena(void **state)
{
	static struct policy_rule rules[1000];
	static char names[1000][HOST_NAME_MAX_LEN + 1];
	static struct bytes hosts[1000];
	struct policy policy = {.rules = rules, .rule_count = 1000};
	struct target target = target_at("a.example", 443, SCHEME_HTTPS);
	auto_type(arena_release) struct arena arena;
	struct verdict verdict;
	struct refusal refusal;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "h%zu.example", i);
		hosts[i] = bytes_str(names[i]);
		rules[i] = (struct policy_rule){
			.name = hosts[i],
			.hosts = {&hosts[i], 1},
			.action = POLICY_ALLOW,
		};
	}
	arena_init(&arena, ADVICE_ARENA_BYTES);
	verdict = target_check(&policy, &target);
	refusal = advice_target(&policy, &target, &verdict, &arena);
	assert_int_equal(refusal.allowed_count, REFUSAL_ALLOWED_MAX);
	assert_true(refusal.detail.len > 0);
}

static void advice_without_memory_still_names_the_constraint(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct refusal refusal;

	(void)state;
	arena_init(&arena, 0);
	refusal = of_request(&arena, "GET", "/other");
	assert_int_equal(refusal.constraint, CONSTRAINT_path_not_allowed);
	assert_int_equal(refusal.allowed_count, 0);
	assert_int_equal(refusal.detail.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(advice_lists_hosts_of_the_family_first),
		cmocka_unit_test(advice_lists_ports_of_the_host),
		cmocka_unit_test(advice_lists_requests_near_the_refused_one),
		cmocka_unit_test(advice_repeats_the_rules_own_words),
		cmocka_unit_test(advice_stays_within_its_arena),
		cmocka_unit_test(
			advice_without_memory_still_names_the_constraint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
