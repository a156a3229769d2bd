/*
 * What stands in a rule beside host, port, method and path.
 */
#include "policy_of.h"

#define RULE(text)    "version: 1\nnetwork:\n  rules:\n    - " text "\n"
#define ALLOW(text)   RULE("{hosts: [a.example], action: allow, " text "}")
#define DENY(text)    RULE("{hosts: [a.example], action: deny, " text "}")
#define NETWORK(text) "version: 1\nnetwork:\n  " text "\n"

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
	/* ports, ranges */
	{ALLOW("ports: any"), NULL},
	{ALLOW("ports: all"), "this must be a list"},
	{ALLOW("ports: [any]"), "must be a number"},
	{ALLOW("ports: [0]"), "a number from 1 to"},
	{RULE("{hosts: [10.2.0.0/16], action: allow}"), NULL},
	{RULE("{hosts: [10.2.0.1/16], action: allow}"),
	 "the bits after the prefix must be zero"},
	{RULE("{hosts: [a.example/16], action: allow}"), "is not a range"},
	{RULE("{hosts: ['a.example:443'], action: allow}"),
	 "\"a.example:443\" has a port: write its host alone"},
	{RULE("{hosts: ['*.a.example:443'], action: allow}"), "has a port"},
	{RULE("{hosts: ['a.example:'], action: allow}"), "is not a host name"},
	{RULE("{hosts: [':443'], action: allow}"), "is not a host name"},
	{RULE("{hosts: ['::1'], action: allow}"), NULL},
	{"version: 1\nnetwork: {rules: [{hosts: [a.example], ports: any, "
	 "action: allow, credential: c}]}\ncredentials: [{name: c, secret: s, "
	 "attach: bearer, hosts: [a.example]}]\n",
	 "a credential goes to ports that are named"},
	{"version: 1\nnetwork: {rules: [{hosts: [a.example], action: allow, "
	 "credential: c}]}\ncredentials: [{name: c, secret: s, attach: bearer, "
	 "hosts: [a.example, 10.0.0.0/8]}]\n",
	 "is not a host name or address"},
	/* rates */
	{ALLOW("rate: {requests: 600/1m, upload: 200MiB/1h, download: 1B/1d}"),
	 NULL},
	{NETWORK("rate: {requests: 1/1s}"), NULL},
	{ALLOW("rate: 600/1m"), "this must be a map"},
	{ALLOW("rate: {}"), "this must say requests, upload or download"},
	{ALLOW("rate: {requests: 600}"), "this must be like 600/1m"},
	{ALLOW("rate: {requests: 0/1m}"), "a number from 1 to"},
	{ALLOW("rate: {requests: 1/0s}"), "this must be a time"},
	{ALLOW("rate: {requests: 1/m}"), "this must be a time"},
	{ALLOW("rate: {upload: 200/1h}"), "this must be a size"},
	{DENY("rate: {requests: 1/1s}"), "a rule that denies has no \"rate\""},
	/* scripts */
	{NETWORK("script: 'function decide() end'"), NULL},
	{NETWORK("script: [x]"), "this must be one value"},
	/* bodies */
	{ALLOW("body: {max: 64KiB}"), NULL},
	{ALLOW("body: {}"), "this must say something of the body"},
	{ALLOW("body: {max: 65MiB}"), "more than 64MiB"},
	{ALLOW("body: {secrets: allow}"), "this must be deny"},
	{DENY("body: {secrets: deny}"), NULL},
	{DENY("body: {max: 1KiB}"), "must say which bodies"},
	{ALLOW("body: {json: [{pointer: /a, equals: b}]}"), NULL},
	{ALLOW("body: {json: [{pointer: '', one-of: [1, -1.5e+3, null]}]}"),
	 NULL},
	{ALLOW("body: {json: []}"), "1 to 100 entries"},
	{ALLOW("body: {json: [{equals: b}]}"), "\"pointer\" is missing"},
	{ALLOW("body: {json: [{pointer: a, equals: b}]}"), "starts with '/'"},
	{ALLOW("body: {json: [{pointer: /a~2, equals: b}]}"), "\"~0\""},
	{ALLOW("body: {json: [{pointer: /a}]}"), "one of equals, one-of"},
	{ALLOW("body: {json: [{pointer: /a, equals: b, matches: c}]}"),
	 "one of equals, one-of"},
	{ALLOW("body: {json: [{pointer: /a, matches: '('}]}"),
	 "no regular expression"},
	{ALLOW("body: {json: [{pointer: /a, one-of: []}]}"), "an empty list"},
	{ALLOW("body: {json: [{pointer: /a, absent: true}]}"), NULL},
	{ALLOW("body: {json: [{pointer: /a, absent: false}]}"), "must be true"},
	{ALLOW("body: {json: [{pointer: /a, absent: true, equals: 1}]}"),
	 "one of equals, one-of"},
	{ALLOW("body: {form: {a: b}, multipart: {c: d}}"), NULL},
	{ALLOW("body: {form: {}}"), "1 to 100 names"},
	{ALLOW("body: {graphql: {}}"), NULL},
	{ALLOW("body: {graphql: {operations: [query], fields: [a, 'b*', '*'], "
	       "arguments: {a.b.c: d}}}"),
	 NULL},
	{ALLOW("body: {graphql: {operations: []}}"), "an empty list"},
	{ALLOW("body: {graphql: {operations: [querry]}}"),
	 "did you mean \"query\"?"},
	{ALLOW("body: {graphql: {fields: ['a-b']}}"), "a field's name"},
	{ALLOW("body: {graphql: {fields: []}}"), "an empty list"},
	{ALLOW("body: {graphql: {arguments: {a: b}}}"), "not like field.arg"},
	{ALLOW("body: {graphql: {arguments: {a..b: b}}}"),
	 "not like field.arg"},
	/* WebSockets and certificates */
	{ALLOW("websocket: {}"), NULL},
	{ALLOW("websocket: {message: 64KiB, text: '[a-z]*', binary: true}"),
	 NULL},
	{ALLOW("websocket: {secrets: deny}"), NULL},
	{ALLOW("websocket: {secrets: allow}"), "must be deny"},
	{ALLOW("websocket: {message: 17MiB}"), "more than 16 MiB"},
	{ALLOW("websocket: {binary: perhaps}"), "true or false"},
	{ALLOW("websocket: true"), "this must be a map"},
	{ALLOW("websocket: {size: 1}"), "unknown key"},
	{ALLOW("websocket: {text: '('}"), "no regular expression"},
	{ALLOW("websocket: {}, methods: [POST]"), "need GET"},
	{ALLOW("websocket: {}, body: {max: 1B}"), "make it two rules"},
	{DENY("websocket: {}"), "a rule that denies has no \"websocket\""},
	{ALLOW("client-certificate: corp"), "is not supported yet"},
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
