#include "gateway/edge/rates.h"
#include "tests/unit/policies/policy_of.h"

#define START 1000000
#define HOUR  (60 * 60 * 1000)

#define POLICY	      "version: 1\nname: p\nnetwork:\n"
#define RULE(words)   "    - {hosts: [a.example], action: allow, " words "}\n"
#define RULES(words)  POLICY "  rules:\n" words
#define THREE	      "rate: {requests: 3/1h}"
#define SIX	      "rate: {requests: 6/1h}"
#define OF_SESSION(r) POLICY "  rate: {requests: " r "}\n"

/* The one that holds, after others. */
struct held {
	struct policy *policy;
	struct rates rates;
};

static void begin(struct held *held, const char *text)
{
	held->policy = policy_of(text);
	assert_int_equal(rates_init(&held->rates, held->policy, NULL, START),
			 0);
}

static void end(struct held *held)
{
	rates_release(&held->rates);
	policy_free(held->policy);
}

static void change(struct held *held, const char *text, uint64_t now_ms)
{
	struct held next = {.policy = policy_of(text)};

	assert_int_equal(
		rates_init(&next.rates, next.policy, &held->rates, now_ms), 0);
	end(held);
	*held = next;
}

static struct bucket *of_rule(struct held *held, size_t index, uint64_t now_ms)
{
	struct rate_buckets *buckets =
		rates_of_rule(&held->rates, held->policy,
			      &held->policy->rules[index], now_ms);

	assert_non_null(buckets);
	return &buckets->requests;
}

static void what_was_used_of_a_session_is_used_after_a_change(void **state)
{
	static const struct {
		const char *text;
		uint64_t left;
	} rows[] = {
		{OF_SESSION("4/1h"), 1},
		{OF_SESSION("8/1h"), 2},
		{OF_SESSION("4/2h"), 1},
		{POLICY "  default: deny\n", UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct held held;

		begin(&held, OF_SESSION("4/1h"));
		bucket_take(&held.rates.session->requests, START, 3);
		change(&held, rows[i].text, START);
		assert_true(bucket_left(&held.rates.session->requests, START) ==
			    rows[i].left);
		end(&held);
	}
}

static void what_was_not_used_is_there_after_a_change(void **state)
{
	struct held held;

	(void)state;
	begin(&held, OF_SESSION("4/1h"));
	change(&held, OF_SESSION("4/1h"), START);
	assert_int_equal(bucket_left(&held.rates.session->requests, START), 4);
	end(&held);
}

static void what_was_used_of_a_rule_is_used_after_a_change(void **state)
{
	static const struct {
		const char *text;
		size_t index;
		uint64_t left;
	} rows[] = {
		{RULES(RULE("name: x, " THREE)), 0, 1},
		{RULES(RULE("name: x, " SIX)), 0, 2},
		/* At another place. */
		{RULES(RULE("name: y") RULE("name: x, " THREE)), 1, 1},
		/* It is another rule. */
		{RULES(RULE("name: y, " THREE)), 0, 3},
		{RULES(RULE(THREE)), 0, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct held held;

		begin(&held, RULES(RULE("name: x, " THREE)));
		bucket_take(of_rule(&held, 0, START), START, 2);
		change(&held, rows[i].text, START);
		assert_int_equal(
			bucket_left(of_rule(&held, rows[i].index, START),
				    START),
			rows[i].left);
		end(&held);
	}
}

static void a_rule_without_a_name_is_known_by_its_place(void **state)
{
	struct held held;

	(void)state;
	begin(&held, RULES(RULE("name: x") RULE(THREE)));
	bucket_take(of_rule(&held, 1, START), START, 3);
	change(&held, RULES(RULE("name: y") RULE(THREE)), START);
	assert_int_equal(bucket_left(of_rule(&held, 1, START), START), 0);
	end(&held);
}

static void a_rule_that_was_gone_is_not_new_when_it_comes_back(void **state)
{
	struct held held;

	(void)state;
	begin(&held, RULES(RULE("name: x, " THREE)));
	bucket_take(of_rule(&held, 0, START), START, 3);
	change(&held, POLICY "  default: deny\n", START);
	change(&held, RULES(RULE("name: x")), START);
	change(&held, RULES(RULE("name: x, " THREE)), START);
	assert_int_equal(bucket_left(of_rule(&held, 0, START), START), 0);
	end(&held);
}

static void what_has_come_back_is_not_kept(void **state)
{
	struct held held;

	(void)state;
	begin(&held, RULES(RULE("name: x, " THREE)));
	bucket_take(of_rule(&held, 0, START), START, 3);
	change(&held, POLICY "  default: deny\n", START + HOUR - 1);
	assert_non_null(held.rates.kept);
	change(&held, POLICY "  default: deny\n", START + HOUR);
	assert_null(held.rates.kept);
	end(&held);
}

/* Where the rate is the same, what is under way by the policy before takes
 * from what the next one has. */
static void two_policies_with_the_same_rate_share_it(void **state)
{
	struct held before, next = {0};

	(void)state;
	begin(&before, RULES(RULE("name: x, " THREE)));
	assert_int_equal(bucket_left(of_rule(&before, 0, START), START), 3);
	bucket_take(of_rule(&before, 0, START), START, 1);
	next.policy = policy_of(RULES(RULE("name: x, " THREE)));
	assert_int_equal(
		rates_init(&next.rates, next.policy, &before.rates, START), 0);
	assert_ptr_equal(of_rule(&next, 0, START), of_rule(&before, 0, START));
	bucket_take(of_rule(&before, 0, START), START, 1);
	end(&before);
	assert_int_equal(bucket_left(of_rule(&next, 0, START), START), 1);
	end(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_was_used_of_a_session_is_used_after_a_change),
		cmocka_unit_test(what_was_not_used_is_there_after_a_change),
		cmocka_unit_test(
			what_was_used_of_a_rule_is_used_after_a_change),
		cmocka_unit_test(a_rule_without_a_name_is_known_by_its_place),
		cmocka_unit_test(
			a_rule_that_was_gone_is_not_new_when_it_comes_back),
		cmocka_unit_test(what_has_come_back_is_not_kept),
		cmocka_unit_test(two_policies_with_the_same_rate_share_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
