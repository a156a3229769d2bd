/*
 * What rules ask of a body: each condition with what it lets pass.
 */
#include "policies/inspect/inspection.h"
#include "policy_of.h"

#define HOSTS "hosts: [a.example], "
#define RULES(text)                                                            \
	"version: 1\nnetwork:\n  rules:\n  - {name: r, " HOSTS text "}\n"
#define ALLOW(text) RULES("action: allow, body: {" text "}")
/* What is denied or asked about stands before what is allowed. */
#define DENY(text)                                                             \
	RULES("action: deny, body: {" text "}")                                \
	"  - {" HOSTS "action: allow}\n"
#define ASK(text)                                                              \
	RULES("action: ask, body: {" text "}")                                 \
	"  - {" HOSTS "action: allow}\n"

#define JSON	  "application/json"
#define FORM	  "application/x-www-form-urlencoded"
#define MULTIPART "multipart/form-data; boundary=b"
#define PART(name, value)                                                      \
	"--b\r\nContent-Disposition: form-data; name=\"" name                  \
	"\"\r\n\r\n" value "\r\n"
#define FILE_PART(name, value)                                                 \
	"--b\r\nContent-Disposition: form-data; name=\"" name                  \
	"\"; filename=\"\"\r\n\r\n" value "\r\n"
#define BYTES_PART(name, value)                                                \
	"--b\r\nContent-Disposition: form-data; name=\"" name                  \
	"\"\r\nContent-Type: application/octet-stream\r\n\r\n" value "\r\n"
#define TOKEN "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"

#define HEAD "json: [{pointer: /head, equals: '${session.branch}'}]"
#define BOTH                                                                   \
	"json: [{pointer: /a, one-of: [1, x]}, {pointer: /b, equals: true}]"
#define MATCHES "json: [{pointer: /n, matches: '[a-z]+'}]"
#define ABSENT	"json: [{pointer: /a/b, absent: true}]"
#define DEEP	"json: [{pointer: /a/1/b~1c, equals: null}]"
#define ROOT	"json: [{pointer: '', equals: 1.5}]"
#define GREAT	"form: {n: '[0-9]+'}"
#define MUTATION                                                               \
	"graphql: {operations: [mutation], fields: [createPull*], "            \
	"arguments: {createPullRequest.input.head: agent/42}}"
#define QUERIES "graphql: {operations: [query]}"

static const struct row {
	const char *policy;
	const char *type;
	const char *body;
	enum constraint constraint;
} rows[] = {
	{ALLOW(HEAD), JSON, "{\"head\":\"agent/42\"}", CONSTRAINT_none},
	{ALLOW(HEAD), JSON, "{\"h\\u0065ad\":\"agent\\/42\"}", CONSTRAINT_none},
	{ALLOW(HEAD), JSON, "{\"head\":\"main\"}", CONSTRAINT_body_not_allowed},
	{ALLOW(HEAD), JSON, "{\"head\":[\"agent/42\"]}",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(HEAD), JSON, "{}", CONSTRAINT_body_not_allowed},
	{ALLOW(HEAD), JSON, "[]", CONSTRAINT_body_not_allowed},
	{ALLOW(HEAD), JSON, "", CONSTRAINT_body_not_allowed},
	/* a list may stand for each of its values */
	{ALLOW(ABSENT), JSON, "[{\"a\":{\"b\":1}}]",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(ABSENT), JSON, "{\"a\":[{\"b\":1}]}",
	 CONSTRAINT_body_not_allowed},
	{DENY(HEAD), JSON, "[{\"head\":\"agent/42\"}]",
	 CONSTRAINT_denied_by_rule},
	{DENY(HEAD), JSON, "[]", CONSTRAINT_none},
	{DENY(HEAD), JSON, "{\"head\":[\"main\",[\"agent/42\"]]}",
	 CONSTRAINT_denied_by_rule},
	{DENY(HEAD), JSON, "{\"head\":[\"main\",{}]}", CONSTRAINT_none},
	{DENY(MATCHES), JSON, "{\"n\":[1,\"abc\"]}", CONSTRAINT_denied_by_rule},
	/* some servers take a key in any case, the last one */
	{ALLOW(HEAD), JSON, "{\"head\":\"agent/42\",\"HEAD\":\"main\"}",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(MATCHES), JSON, "{\"n\":\"a\",\"\xc3\xb1\":\"1\"}",
	 CONSTRAINT_none},
	{ALLOW("json: [{pointer: /base, equals: x}]"), JSON,
	 "{\"base\":\"x\",\"ba\xc5\xbf"
	 "e\":\"y\"}",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(HEAD), JSON, "{\"head\":\"agent/42\",\"head\":\"main\"}",
	 CONSTRAINT_body_unreadable},
	{ALLOW(HEAD), JSON, "{\"head\":", CONSTRAINT_body_unreadable},
	{ALLOW(HEAD), "text/plain", "{\"head\":\"agent/42\"}",
	 CONSTRAINT_body_unreadable},
	{ALLOW(HEAD), "", "{\"head\":\"agent/42\"}",
	 CONSTRAINT_body_unreadable},
	{ALLOW(BOTH), JSON, "{\"a\":1,\"b\":true}", CONSTRAINT_none},
	{ALLOW(BOTH), JSON, "{\"a\":\"x\",\"b\":true}", CONSTRAINT_none},
	{ALLOW(BOTH), JSON, "{\"a\":1.0,\"b\":true}", CONSTRAINT_none},
	{ALLOW(BOTH), JSON, "{\"a\":\"1\",\"b\":true}",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(BOTH), JSON, "{\"a\":1,\"b\":\"true\"}",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(BOTH), JSON, "{\"a\":1}", CONSTRAINT_body_not_allowed},
	{ALLOW(MATCHES), JSON, "{\"n\":\"abc\"}", CONSTRAINT_none},
	{ALLOW(MATCHES), JSON, "{\"n\":\"abc1\"}", CONSTRAINT_body_not_allowed},
	{ALLOW(MATCHES), JSON, "{\"n\":1}", CONSTRAINT_body_not_allowed},
	{ALLOW(ABSENT), JSON, "{\"a\":{}}", CONSTRAINT_none},
	{ALLOW(ABSENT), JSON, "[]", CONSTRAINT_none},
	{ALLOW(ABSENT), JSON, "{\"a\":{\"b\":null}}",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(ABSENT), JSON, "{\"a\":{\"B\":1}}", CONSTRAINT_body_not_allowed},
	{ALLOW(ABSENT), JSON, "{\"a\":", CONSTRAINT_body_unreadable},
	{DENY(ABSENT), JSON, "{}", CONSTRAINT_denied_by_rule},
	{DENY(ABSENT), JSON, "{\"a\":{\"b\":1}}", CONSTRAINT_none},
	{ALLOW(DEEP), JSON, "{\"a\":[0,{\"b/c\":null}]}", CONSTRAINT_none},
	{ALLOW(DEEP), JSON, "{\"a\":[0,{\"b/c\":0}]}",
	 CONSTRAINT_body_not_allowed},
	{ALLOW(DEEP), JSON, "{\"a\":[0]}", CONSTRAINT_body_not_allowed},
	{ALLOW(ROOT), JSON, "1.5", CONSTRAINT_none},
	{ALLOW(ROOT), JSON, "15e-1", CONSTRAINT_none},
	{ALLOW(ROOT), JSON, "1", CONSTRAINT_body_not_allowed},
	{DENY(HEAD), JSON, "{\"head\":\"main\"}", CONSTRAINT_none},
	{DENY(HEAD), JSON, "", CONSTRAINT_none},
	{DENY(HEAD), JSON, "{\"head\":\"agent/42\"}",
	 CONSTRAINT_denied_by_rule},
	{DENY(HEAD), JSON, "{\"HEAD\":\"agent/42\"}",
	 CONSTRAINT_denied_by_rule},
	{DENY(HEAD), JSON, "{\"head\":", CONSTRAINT_denied_by_rule},
	{DENY(HEAD), "text/plain", "x", CONSTRAINT_denied_by_rule},
	{ASK(HEAD), JSON, "{\"head\":\"main\"}", CONSTRAINT_none},
	{ASK(HEAD), JSON, "{\"head\":\"agent/42\"}",
	 CONSTRAINT_approval_pending},
	{ASK(HEAD), JSON, "{\"head\":", CONSTRAINT_body_unreadable},
	/* sizes */
	{ALLOW("max: 5B"), "x/y", "12345", CONSTRAINT_none},
	{ALLOW("max: 5B"), "x/y", "123456", CONSTRAINT_body_too_large},
	{DENY("max: 5B, json: [{pointer: /a, equals: b}]"), JSON, "{\"a\":0}",
	 CONSTRAINT_denied_by_rule},
	{DENY("max: 9B, json: [{pointer: /a, equals: b}]"), JSON, "{\"a\":0}",
	 CONSTRAINT_none},
	{ASK("max: 5B"), "x/y", "123456", CONSTRAINT_body_too_large},
	/* forms */
	{ALLOW(GREAT), FORM, "n=1", CONSTRAINT_none},
	{ALLOW(GREAT), FORM, "n=1&n=x", CONSTRAINT_body_not_allowed},
	{ALLOW(GREAT), FORM, "m=1", CONSTRAINT_body_not_allowed},
	{ALLOW(GREAT), FORM, "n=1&+n=x", CONSTRAINT_body_not_allowed},
	{ALLOW(GREAT), FORM, "n=1&n[]=x", CONSTRAINT_body_not_allowed},
	{ALLOW(GREAT), FORM, "n=1&nn[]=x", CONSTRAINT_none},
	{ALLOW(GREAT), FORM, "", CONSTRAINT_body_not_allowed},
	{ALLOW(GREAT), FORM, "n=%", CONSTRAINT_body_unreadable},
	{ALLOW(GREAT), JSON, "{\"n\":\"1\"}", CONSTRAINT_body_unreadable},
	{DENY(GREAT), FORM, "n=x", CONSTRAINT_none},
	{DENY(GREAT), FORM, "n=x&n=1", CONSTRAINT_denied_by_rule},
	{ALLOW("multipart: {n: '[0-9]+'}"), MULTIPART,
	 PART("n", "1") "--b--\r\n", CONSTRAINT_none},
	{ALLOW("multipart: {n: '[0-9]+'}"), MULTIPART,
	 PART("n", "1") PART("n", "x") "--b--\r\n",
	 CONSTRAINT_body_not_allowed},
	{ALLOW("multipart: {n: '[0-9]+'}"), MULTIPART, PART("n", "1"),
	 CONSTRAINT_body_unreadable},
	/* to most servers a file is no field: there is none of that name */
	{ALLOW("multipart: {n: '[0-9]+'}"), MULTIPART,
	 FILE_PART("n", "1") "--b--\r\n", CONSTRAINT_body_not_allowed},
	{ALLOW("multipart: {n: '[0-9]+'}"), MULTIPART,
	 BYTES_PART("N", "1") PART("n", "1") "--b--\r\n",
	 CONSTRAINT_body_not_allowed},
	{ALLOW("multipart: {n: '[0-9]+'}"), MULTIPART,
	 FILE_PART("f", "x") PART("n", "1") "--b--\r\n", CONSTRAINT_none},
	{ALLOW("multipart: {n: '[0-9]+'}"), MULTIPART,
	 PART("n", "1") PART("=?utf-8?q?n?=", "x") "--b--\r\n",
	 CONSTRAINT_body_unreadable},
	{DENY("multipart: {n: '[0-9]+'}"), MULTIPART,
	 FILE_PART("n", "1") "--b--\r\n", CONSTRAINT_denied_by_rule},
	{DENY("multipart: {n: '[0-9]+'}"), MULTIPART,
	 FILE_PART("n", "x") "--b--\r\n", CONSTRAINT_none},
	/* secrets */
	{ALLOW("secrets: deny"), JSON, "{\"a\":\"hello\"}", CONSTRAINT_none},
	{ALLOW("secrets: deny"), JSON, "{\"a\":\"" TOKEN "\"}",
	 CONSTRAINT_secret_in_body},
	{ALLOW("max: 1KiB"), JSON, "{\"a\":\"" TOKEN "\"}", CONSTRAINT_none},
	{DENY("secrets: deny"), JSON, "{\"a\":\"hello\"}", CONSTRAINT_none},
	{DENY("secrets: deny"), JSON, "{\"a\":\"" TOKEN "\"}",
	 CONSTRAINT_denied_by_rule},
	{ASK("secrets: deny"), JSON, "{\"a\":\"hello\"}",
	 CONSTRAINT_approval_pending},
	{ASK("secrets: deny"), JSON, "{\"a\":\"" TOKEN "\"}",
	 CONSTRAINT_secret_in_body},
	/* GraphQL */
	{ALLOW(QUERIES), JSON, "{\"query\":\"{ viewer { login } }\"}",
	 CONSTRAINT_none},
	{ALLOW(QUERIES), JSON, "{\"query\":\"mutation { x }\"}",
	 CONSTRAINT_graphql_not_allowed},
	{ALLOW(QUERIES), JSON,
	 "[{\"query\":\"{ a }\"},{\"query\":\"mutation { x }\"}]",
	 CONSTRAINT_graphql_not_allowed},
	{ALLOW(QUERIES), JSON, "{\"query\":\"{ a \"}",
	 CONSTRAINT_body_unreadable},
	{ALLOW(QUERIES), JSON, "{\"id\":\"stored\"}",
	 CONSTRAINT_body_unreadable},
	{ALLOW(QUERIES), JSON, "", CONSTRAINT_graphql_not_allowed},
	{DENY("graphql: {operations: [mutation]}"), JSON,
	 "{\"query\":\"{ a }\"}", CONSTRAINT_none},
	{DENY("graphql: {operations: [mutation]}"), JSON,
	 "[{\"query\":\"{ a }\"},{\"query\":\"mutation { x }\"}]",
	 CONSTRAINT_denied_by_rule},
	{DENY("graphql: {operations: [mutation]}"), JSON, "{\"query\":\"{\"}",
	 CONSTRAINT_denied_by_rule},
	{DENY("graphql: {fields: [deleteRef]}"), JSON,
	 "{\"query\":\"mutation { a: createRef b: deleteRef }\"}",
	 CONSTRAINT_denied_by_rule},
	{DENY("graphql: {fields: [deleteRef]}"), JSON,
	 "{\"query\":\"mutation { ...F } fragment F on M { x: deleteRef }\"}",
	 CONSTRAINT_denied_by_rule},
	{DENY("graphql: {fields: [deleteRef]}"), JSON,
	 "{\"query\":\"mutation { deleteRef: createRef }\"}", CONSTRAINT_none},
	{ALLOW(MUTATION), JSON,
	 "{\"query\":\"mutation { createPullRequest(input: {head: "
	 "\\\"agent/42\\\"}) { id } }\"}",
	 CONSTRAINT_none},
	{ALLOW(MUTATION), JSON,
	 "{\"query\":\"mutation($i: I!) { createPullRequest(input: $i) { id } "
	 "}\",\"variables\":{\"i\":{\"head\":\"agent/42\"}}}",
	 CONSTRAINT_none},
	{ALLOW(MUTATION), JSON,
	 "{\"query\":\"mutation($i: I!) { createPullRequest(input: $i) { id } "
	 "}\",\"variables\":{\"i\":{\"head\":\"main\"}}}",
	 CONSTRAINT_graphql_not_allowed},
	{ALLOW(MUTATION), JSON,
	 "{\"query\":\"mutation { createPullRequest(input: {}) { id } }\"}",
	 CONSTRAINT_graphql_not_allowed},
	{ALLOW(MUTATION), JSON,
	 "{\"query\":\"mutation { createPullRequest(input: {head: "
	 "\\\"agent/42\\\"}) { id } deleteRef }\"}",
	 CONSTRAINT_graphql_not_allowed},
};

static struct inspection *inspect(const char *type, const char *encoding,
				  const char *query, const char *body)
{
	const struct inspect_source source = {
		.type = bytes_str(type),
		.encoding = bytes_str(encoding),
		.query = bytes_str(query),
		.body = bytes_str(body),
		.decoded_max = 64 * 1024,
	};
	struct err err;
	struct inspection *seen = inspection_new(&source, &err);

	assert_non_null(seen);
	return seen;
}

static void decide_request_looks_into_the_body(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy *policy = policy_of(rows[i].policy);
		struct request_facts facts = request_of((struct request_line){
			"POST", "https", "a.example", "/p", ""});
		struct verdict verdict;

		facts.body = inspect(rows[i].type, "", "", rows[i].body);
		facts.body_bytes = strlen(rows[i].body);
		facts.has_body = facts.body_bytes > 0;
		verdict = decide_request(policy, &facts, NULL);
		print_message("%zu: %s%s\n", i, rows[i].policy, rows[i].body);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(rows[i].constraint));
		assert_int_equal(
			verdict.kind,
			rows[i].constraint == CONSTRAINT_none ? VERDICT_ALLOW
			: rows[i].constraint == CONSTRAINT_approval_pending
				? VERDICT_ASK
				: VERDICT_DENY);
		/* nothing of it was decided before it was seen */
		inspection_free(facts.body);
		facts.body = NULL;
		verdict = decide_request(policy, &facts, NULL);
		assert_int_equal(verdict.kind, VERDICT_LOOK);
		assert_true(bytes_is(verdict.rule, "r"));
		policy_free(policy);
	}
}

static void a_body_is_held_once_for_all_rules_that_may_decide(void **state)
{
	static const char text[] =
		"version: 1\nnetwork:\n  rules:\n"
		"  - {name: get, " HOSTS "methods: [GET], action: allow, body: "
		"{max: 4MiB}}\n"
		"  - {name: a, " HOSTS "paths: [/a], action: allow, body: "
		"{max: 1KiB}}\n"
		"  - {name: b, " HOSTS "paths: ['/*'], action: deny, body: "
		"{max: 3KiB, secrets: deny}}\n"
		"  - {name: c, " HOSTS "paths: [/a], action: allow}\n"
		"  - {name: d, " HOSTS "paths: ['/*'], action: allow, body: "
		"{max: 2MiB}}\n";
	static const struct {
		const char *path;
		uint64_t max;
		const char *rule;
	} asked[] = {
		{"/a", 3 * 1024, "a"},
		{"/b", 2 * 1024 * 1024, "b"},
	};
	struct policy *policy = policy_of(text);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct request_facts facts = request_of((struct request_line){
			"POST", "https", "a.example", asked[i].path, ""});
		struct verdict verdict = decide_request(policy, &facts, NULL);

		assert_int_equal(verdict.kind, VERDICT_LOOK);
		assert_int_equal(verdict.look_max, asked[i].max);
		assert_true(bytes_is(verdict.rule, asked[i].rule));
	}
	policy_free(policy);
}

static void a_body_is_not_held_when_it_changes_nothing(void **state)
{
	static const char text[] =
		"version: 1\nnetwork:\n  rules:\n"
		"  - {name: s, action: deny, body: {secrets: deny}}\n"
		"  - {name: r, " HOSTS "methods: [GET], action: allow}\n";
	struct policy *policy = policy_of(text);
	struct request_facts facts = request_of(
		(struct request_line){"POST", "https", "a.example", "/", ""});
	struct verdict verdict = decide_request(policy, &facts, NULL);

	(void)state;
	assert_int_equal(verdict.kind, VERDICT_DENY);
	assert_int_equal(verdict.constraint, CONSTRAINT_method_not_allowed);
	facts.method = bytes_str("GET");
	verdict = decide_request(policy, &facts, NULL);
	assert_int_equal(verdict.kind, VERDICT_LOOK);
	policy_free(policy);
}

static void a_query_is_looked_at_where_graphql_stands_in_it(void **state)
{
	static const struct {
		const char *query;
		enum constraint constraint;
	} asked[] = {
		{"query=%7Ba%7D", CONSTRAINT_none},
		{"query=mutation%7Ba%7D", CONSTRAINT_graphql_not_allowed},
		{"query=%7Ba", CONSTRAINT_body_unreadable},
		{"", CONSTRAINT_graphql_not_allowed},
	};
	struct policy *policy = policy_of(ALLOW(QUERIES));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct request_facts facts = request_of((struct request_line){
			"GET", "https", "a.example", "/", asked[i].query});
		struct verdict verdict;

		facts.body = inspect("", "", asked[i].query, "");
		verdict = decide_request(policy, &facts, NULL);
		print_message("%s\n", asked[i].query);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(asked[i].constraint));
		inspection_free(facts.body);
	}
	policy_free(policy);
}

/* Servlets and PHP make one of both. */
static void a_form_does_not_hold_where_the_query_says_more(void **state)
{
	static const char both[] =
		RULES("query: {n: '[0-9]+'}, action: allow, body: {" GREAT "}");
	static const struct {
		const char *policy, *query, *body;
		enum constraint constraint;
	} asked[] = {
		{ALLOW(GREAT), "m=x", "n=1", CONSTRAINT_none},
		{ALLOW(GREAT), "n=x", "n=1", CONSTRAINT_body_not_allowed},
		{ALLOW(GREAT), "n=1", "n=1", CONSTRAINT_body_not_allowed},
		{ALLOW(GREAT), "N%5B%5D", "n=1", CONSTRAINT_body_not_allowed},
		{ALLOW(GREAT), "a;n=x", "n=1", CONSTRAINT_body_not_allowed},
		{both, "n=1", "n=1", CONSTRAINT_none},
		{both, "n=x", "n=1", CONSTRAINT_query_not_allowed},
		{DENY(GREAT), "m=1", "n=x", CONSTRAINT_none},
		{DENY(GREAT), "n=1", "n=x", CONSTRAINT_denied_by_rule},
		{DENY(GREAT), "n=1", "", CONSTRAINT_denied_by_rule},
		{DENY(GREAT), "", "", CONSTRAINT_none},
		{DENY("form: {n: '1', o: '1'}"), "n=1", "o=2", CONSTRAINT_none},
		{ASK(GREAT), "n=1", "n=1", CONSTRAINT_body_not_allowed},
		{ASK(GREAT), "", "n=1", CONSTRAINT_approval_pending},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct policy *policy = policy_of(asked[i].policy);
		struct request_facts facts = request_of((struct request_line){
			"POST", "https", "a.example", "/", asked[i].query});
		struct verdict verdict;

		facts.body = inspect(FORM, "", asked[i].query, asked[i].body);
		facts.has_body = *asked[i].body != '\0';
		verdict = decide_request(policy, &facts, NULL);
		print_message("%s?%s %s\n", asked[i].policy, asked[i].query,
			      asked[i].body);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(asked[i].constraint));
		inspection_free(facts.body);
		policy_free(policy);
	}
}

/* Rails lets the query's value win, Grape adds what the body has not. */
static void json_does_not_hold_where_the_query_says_more(void **state)
{
	static const char both[] = RULES("query: {head: agent/42}, action: "
					 "allow, body: {" HEAD "}");
	static const char head[] = "{\"head\":\"agent/42\"}";
	static const struct {
		const char *policy, *query, *body;
		enum constraint constraint;
	} asked[] = {
		{ALLOW(HEAD), "", head, CONSTRAINT_none},
		{ALLOW(HEAD), "headless=1", head, CONSTRAINT_none},
		{ALLOW(HEAD), "head=main", head, CONSTRAINT_body_not_allowed},
		{ALLOW(HEAD), "h%65ad[x]=1", head, CONSTRAINT_body_not_allowed},
		{ALLOW(HEAD), "x=%zz", head, CONSTRAINT_body_not_allowed},
		{both, "head=agent/42", head, CONSTRAINT_none},
		{both, "head=main", head, CONSTRAINT_query_not_allowed},
		{ALLOW(ABSENT), "b=1", "{}", CONSTRAINT_none},
		{ALLOW(ABSENT), "a%5Bb%5D=1", "{}",
		 CONSTRAINT_body_not_allowed},
		{ALLOW(ROOT), "a=1", "1.5", CONSTRAINT_none},
		{DENY(HEAD), "x=1", "{}", CONSTRAINT_none},
		{DENY(HEAD), "head=agent/42", "{}", CONSTRAINT_denied_by_rule},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct policy *policy = policy_of(asked[i].policy);
		struct request_facts facts = request_of((struct request_line){
			"POST", "https", "a.example", "/", asked[i].query});
		struct verdict verdict;

		facts.body = inspect(JSON, "", asked[i].query, asked[i].body);
		facts.has_body = true;
		verdict = decide_request(policy, &facts, NULL);
		print_message("%s?%s %s\n", asked[i].policy, asked[i].query,
			      asked[i].body);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(asked[i].constraint));
		inspection_free(facts.body);
		policy_free(policy);
	}
}

static void the_verdict_says_what_was_found(void **state)
{
	struct policy *policy = policy_of(ALLOW(HEAD));
	struct request_facts facts = request_of(
		(struct request_line){"POST", "https", "a.example", "/", ""});
	struct verdict verdict;
	struct buf trace;

	(void)state;
	buf_init(&trace, 4096);
	facts.body = inspect(JSON, "", "", "{\"head\":\"swordfish\"}");
	facts.has_body = true;
	verdict = decide_request(policy, &facts, &trace);
	assert_true(bytes_is(verdict.reason, "/head"));
	assert_string_equal(buf_str(&trace),
			    "r: another body: /head\ndefault: deny\n");
	inspection_free(facts.body);
	buf_release(&trace);
	policy_free(policy);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(decide_request_looks_into_the_body),
		cmocka_unit_test(
			a_body_is_held_once_for_all_rules_that_may_decide),
		cmocka_unit_test(a_body_is_not_held_when_it_changes_nothing),
		cmocka_unit_test(
			a_query_is_looked_at_where_graphql_stands_in_it),
		cmocka_unit_test(
			a_form_does_not_hold_where_the_query_says_more),
		cmocka_unit_test(json_does_not_hold_where_the_query_says_more),
		cmocka_unit_test(the_verdict_says_what_was_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
