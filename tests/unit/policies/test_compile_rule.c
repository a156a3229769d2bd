/*
 * What stands in a rule beside host, port, method and path.
 */
#include "policy_of.h"

#define RULE(text)  "version: 1\nnetwork:\n  rules:\n    - " text "\n"
#define ALLOW(text) RULE("{hosts: [a.example], action: allow, " text "}")

/* What is wrong, and its twin that is not: told is NULL there. */
static const struct row {
	const char *text;
	const char *told;
} rows[] = {
	{RULE("{hosts: [a.example], action: ask}"), NULL},
	{RULE("{hosts: [a.example], action: ask, hold: 10m}"), NULL},
	{RULE("{hosts: [a.example], action: ask, hold: 11m}"),
	 "more than 10 minutes"},
	{RULE("{hosts: [a.example], action: ask, hold: 0s}"), "must be a time"},
	{RULE("{action: ask}"), "a rule that asks needs \"hosts\""},
	{ALLOW("hold: 10s"), "only a rule that asks holds"},
	{ALLOW("query: {per_page: '[0-9]+', 'a[]': x}"), NULL},
	{ALLOW("query: {}"), "must have 1 to 100 names"},
	{ALLOW("query: [a]"), "this must be a map"},
	{ALLOW("query: {a: [b]}"), "this must be one value"},
	{ALLOW("query: {a: ~}"), "\"a\" has no value"},
	{ALLOW("query: {a: ''}"), NULL},
	{ALLOW("query: {a: 'x(y'}"),
	 "p.yaml:4:59: no regular expression: missing closing parenthesis, "
	 "at its byte 3"},
	{ALLOW("query: {a: x(y}"), "p.yaml:4:57: no regular expression"},
	{ALLOW("query: {a: b, A: c}"), "this name stands here twice"},
	{ALLOW("query: {a: '${session.branch}x?'}"), NULL},
	{ALLOW("query: {a: '${session.brunch}'}"), "there is no variable"},
	{ALLOW("headers: {accept: 'application/.*', X-It: a|b}"), NULL},
	{ALLOW("headers: {'a b': x}"), "this is no header's name"},
	{ALLOW("headers: {Host: x}"), "rules do not see this header"},
	{ALLOW("headers: {x-it: a, X-IT: b}"), "stands here twice"},
	{ALLOW("websocket: {}"), NULL},
	{ALLOW("websocket: {message: 16MiB, text: 'a|b', binary: true}"), NULL},
	{ALLOW("websocket: {message: 17MiB}"), "more than 16 MiB"},
	{ALLOW("websocket: {text: 'x(y'}"), "no regular expression"},
	{ALLOW("websocket: {binary: perhaps}"), "true or false"},
	{ALLOW("websocket: true"), "this must be a map"},
	{ALLOW("websocket: {size: 1}"), "unknown key"},
};

static void policy_compile_tells_what_is_wrong_with_a_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		struct policy *policy = policy_try(rows[i].text, &told, NULL);

		print_message("%s%s", rows[i].text, buf_str(&told));
		assert_int_equal(policy == NULL, rows[i].told != NULL);
		if (rows[i].told)
			assert_non_null(strstr(buf_str(&told), rows[i].told));
		policy_free(policy);
		buf_release(&told);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			policy_compile_tells_what_is_wrong_with_a_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
