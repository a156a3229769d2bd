/*
 * What a rule asks of the query and the header, of a WebSocket, and of a
 * person.
 */
#include "policy_of.h"

#define NONE                                                                   \
	{                                                                      \
		{                                                              \
			{NULL, 0}, {NULL, 0}                                   \
		}                                                              \
	}
#define HOSTS "hosts: [a.example], "
#define RULES(text)                                                            \
	"version: 1\nnetwork:\n  rules:\n  - {name: r, " HOSTS text "}\n"

enum say { NO, YES, ASKS };

static const struct row {
	const char *policy;
	const char *query;
	struct field fields[3];
	enum say say;
	enum constraint constraint;
} rows[] = {
#define PAGE RULES("action: allow, query: {page: '[0-9]+'}")
	{PAGE, "page=1", NONE, YES, CONSTRAINT_none},
	{PAGE, "page=1&x=y", NONE, YES, CONSTRAINT_none},
	{PAGE, "page=1&page=22", NONE, YES, CONSTRAINT_none},
	{PAGE, "p%61ge=%31", NONE, YES, CONSTRAINT_none},
	{PAGE, "page=1&page=x", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "page=x", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "page=", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "x=1", NONE, NO, CONSTRAINT_query_not_allowed},
	/* another spelling is no name, but its values count */
	{PAGE, "Page=1", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "page=1&Page=x", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "page=1&Page=2", NONE, YES, CONSTRAINT_none},
	{PAGE, "page=1&+page=x", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "page=1&page[]=x", NONE, NO, CONSTRAINT_query_not_allowed},
	/* what cannot be read in one way */
	{PAGE, "page=1&x=%zz", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "page=1;x", NONE, NO, CONSTRAINT_query_not_allowed},
	{PAGE, "page=1&x=%ff", NONE, YES, CONSTRAINT_none},
	/* the twin: no query asked for, nothing is read */
	{RULES("action: allow"), "x=%zz", NONE, YES, CONSTRAINT_none},
#undef PAGE
#define TWO RULES("action: allow, query: {a: x, b: y}")
	{TWO, "a=x&b=y", NONE, YES, CONSTRAINT_none},
	{TWO, "a=x", NONE, NO, CONSTRAINT_query_not_allowed},
	{TWO, "a=x&b=z", NONE, NO, CONSTRAINT_query_not_allowed},
#undef TWO
/* a rule that denies takes the least sign */
#define EVIL                                                                   \
	RULES("action: deny, query: {do: delete}")                             \
	"  - {" HOSTS "action: allow}\n"
	{EVIL, "do=read", NONE, YES, CONSTRAINT_none},
	{EVIL, "", NONE, YES, CONSTRAINT_none},
	{EVIL, "do=delete", NONE, NO, CONSTRAINT_denied_by_rule},
	{EVIL, "do=read&do=delete", NONE, NO, CONSTRAINT_denied_by_rule},
	{EVIL, "DO=delete", NONE, NO, CONSTRAINT_denied_by_rule},
	{EVIL, "d%6f=d%65lete", NONE, NO, CONSTRAINT_denied_by_rule},
	{EVIL, "do=%ff", NONE, NO, CONSTRAINT_denied_by_rule},
	{EVIL, "x=%zz", NONE, NO, CONSTRAINT_denied_by_rule},
#undef EVIL
#define JSON		   RULES("action: allow, headers: {accept: 'application/.*'}")
#define FIELD(name, value) {BYTES_LITERAL(name), BYTES_LITERAL(value)}
	{JSON, "", {FIELD("Accept", "application/json")}, YES, CONSTRAINT_none},
	{JSON, "", {FIELD("ACCEPT", "application/x")}, YES, CONSTRAINT_none},
	{JSON, "", NONE, NO, CONSTRAINT_header_not_allowed},
	{JSON,
	 "",
	 {FIELD("X-Accept", "application/json")},
	 NO,
	 CONSTRAINT_header_not_allowed},
	{JSON,
	 "",
	 {FIELD("accept", "text/application/json")},
	 NO,
	 CONSTRAINT_header_not_allowed},
	{JSON,
	 "",
	 {FIELD("accept", "application/json"), FIELD("Accept", "text/html")},
	 NO,
	 CONSTRAINT_header_not_allowed},
	{JSON,
	 "",
	 {FIELD("accept", "application/\xff")},
	 NO,
	 CONSTRAINT_header_not_allowed},
#undef JSON
#define BOT                                                                    \
	RULES("action: deny, headers: {user-agent: '(?i).*bot.*'}")            \
	"  - {" HOSTS "action: allow}\n"
	{BOT, "", NONE, YES, CONSTRAINT_none},
	{BOT, "", {FIELD("User-Agent", "curl")}, YES, CONSTRAINT_none},
	{BOT,
	 "",
	 {FIELD("User-Agent", "curl"), FIELD("user-agent", "a Bot")},
	 NO,
	 CONSTRAINT_denied_by_rule},
	{BOT,
	 "",
	 {FIELD("User_Agent", "a Bot")},
	 NO,
	 CONSTRAINT_denied_by_rule},
	{BOT, "", {FIELD("UserAgent", "a Bot")}, YES, CONSTRAINT_none},
	{BOT, "", {FIELD("User-Agent", "\xff")}, NO, CONSTRAINT_denied_by_rule},
#undef BOT
/* a person is asked about what matches whole; what matches in part is
 * refused, and does not fall to what comes after */
#define MANY                                                                   \
	RULES("action: ask, query: {n: '[0-9]{3}'}")                           \
	"  - {" HOSTS "action: allow}\n"
	{MANY, "n=1", NONE, YES, CONSTRAINT_none},
	{MANY, "n=100", NONE, ASKS, CONSTRAINT_approval_pending},
	{MANY, "n=100&n=1", NONE, NO, CONSTRAINT_query_not_allowed},
	{MANY, "N=100", NONE, NO, CONSTRAINT_query_not_allowed},
	{MANY, "n=%", NONE, NO, CONSTRAINT_query_not_allowed},
#undef MANY
#define WAYS                                                                   \
	RULES("action: ask, paths: [/P]")                                      \
	"  - {" HOSTS "action: allow}\n"
	{WAYS, "", NONE, NO, CONSTRAINT_path_not_allowed},
#undef WAYS
};

static void decide_request_asks_all_of_the_query_and_the_header(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy *policy = policy_of(rows[i].policy);
		struct field items[3];
		struct fields fields = {items, 0, 3};
		struct request_facts facts = request_of((struct request_line){
			"GET", "https", "a.example", "/p", rows[i].query});
		struct verdict verdict;

		memcpy(items, rows[i].fields, sizeof(items));
		while (fields.count < 3 && items[fields.count].name.len)
			fields.count++;
		facts.fields = fields.count ? &fields : NULL;
		verdict = decide_request(policy, &facts, NULL);
		print_message("%zu: %s\n", i, rows[i].query);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(rows[i].constraint));
		assert_int_equal(verdict.kind,
				 rows[i].say == YES    ? VERDICT_ALLOW
				 : rows[i].say == ASKS ? VERDICT_ASK
						       : VERDICT_DENY);
		policy_free(policy);
	}
}

static struct verdict decide(const char *text, struct request_line line,
			     bool is_websocket, struct policy **policy)
{
	struct request_facts facts = request_of(line);

	*policy = policy_of(text);
	facts.is_websocket = is_websocket;
	return decide_request(*policy, &facts, NULL);
}

static const struct request_line get = {"GET", "https", "a.example", "/", ""};

static void a_rule_that_asks_holds_the_request_with_its_credential(void **state)
{
	static const char text[] =
		RULES("action: ask, hold: 5s, credential: c, reason: "
		      "why") "credentials:\n  - {name: c, secret: s, "
			     "attach: bearer, hosts: "
			     "[a.example]}\n";
	struct policy *policy;
	struct verdict verdict = decide(text, get, false, &policy);

	(void)state;
	assert_int_equal(verdict.kind, VERDICT_ASK);
	assert_int_equal(verdict.constraint, CONSTRAINT_approval_pending);
	assert_int_equal(verdict.hold_ms, 5000);
	assert_true(bytes_is(verdict.rule, "r"));
	assert_true(bytes_is(verdict.reason, "why"));
	assert_true(bytes_is(verdict.credential, "c"));
	assert_ptr_equal(verdict.by, &policy->rules[0]);
	policy_free(policy);
}

static void who_asks_by_default_asks_about_names_and_usual_ports(void **state)
{
	static const char text[] =
		"version: 1\nnetwork:\n  default: ask\n  rules:\n"
		"  - {hosts: [b.example], action: deny}\n"
		"  - {hosts: [c.example], methods: [POST], action: allow}\n";
	static const struct {
		const char *host;
		uint16_t port;
		enum verdict_kind target, request;
	} asked[] = {
		{"a.example", 443, VERDICT_ALLOW, VERDICT_ASK},
		{"a.example", 80, VERDICT_ALLOW, VERDICT_ASK},
		{"a.example", 22, VERDICT_DENY, VERDICT_DENY},
		{"10.0.0.1", 443, VERDICT_DENY, VERDICT_DENY},
		{"b.example", 443, VERDICT_DENY, VERDICT_DENY},
		{"c.example", 443, VERDICT_ALLOW, VERDICT_ASK},
	};
	struct policy *policy = policy_of(text);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct request_facts facts = request_of(get);
		struct verdict verdict;

		facts.target = target_of(asked[i].host, asked[i].port);
		print_message("%s:%u\n", asked[i].host, asked[i].port);
		verdict = decide_target(policy, &facts.target, NULL);
		assert_int_equal(verdict.kind, asked[i].target);
		assert_int_equal(verdict.inspect,
				 asked[i].target == VERDICT_ALLOW);
		verdict = decide_request(policy, &facts, NULL);
		assert_int_equal(verdict.kind, asked[i].request);
		if (verdict.kind != VERDICT_ASK)
			continue;
		assert_true(bytes_is(verdict.rule, "default"));
		assert_null(verdict.by);
		assert_int_equal(verdict.hold_ms, POLICY_HOLD_DEFAULT_MS);
	}
	policy_free(policy);
}

static void a_websocket_needs_a_rule_that_names_it(void **state)
{
	static const struct {
		const char *policy;
		enum verdict_kind plain, websocket;
		enum constraint constraint;
	} cases[] = {
		{RULES("action: allow"), VERDICT_ALLOW, VERDICT_DENY,
		 CONSTRAINT_websocket_not_allowed},
		{"version: 1\nnetwork: {default: ask}\n", VERDICT_ASK,
		 VERDICT_DENY, CONSTRAINT_websocket_not_allowed},
		{RULES("action: allow, websocket: {}"), VERDICT_ALLOW,
		 VERDICT_ALLOW, CONSTRAINT_none},
		{RULES("action: allow, websocket: {}, paths: [/x]"),
		 VERDICT_DENY, VERDICT_DENY, CONSTRAINT_path_not_allowed},
		{RULES("action: deny"), VERDICT_DENY, VERDICT_DENY,
		 CONSTRAINT_denied_by_rule},
		{RULES("action: ask"), VERDICT_ASK, VERDICT_DENY,
		 CONSTRAINT_websocket_not_allowed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *policy;
		struct verdict verdict =
			decide(cases[i].policy, get, false, &policy);

		assert_int_equal(verdict.kind, cases[i].plain);
		policy_free(policy);
		verdict = decide(cases[i].policy, get, true, &policy);
		assert_int_equal(verdict.kind, cases[i].websocket);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(cases[i].constraint));
		policy_free(policy);
	}
}

static void grpc_passes_with_a_credential(void **state)
{
	static const char text[] = RULES(
		"action: allow, credential: c") "credentials:\n  - {name: c, "
						"secret: s, attach: bearer, "
						"hosts: [a.example]}\n";
	struct field items[] = {FIELD("content-type", "application/grpc")};
	struct fields fields = {items, 1, 1};
	struct request_facts facts = request_of(get);
	struct policy *policy = policy_of(text);
	struct verdict verdict;

	(void)state;
	facts.fields = &fields;
	verdict = decide_request(policy, &facts, NULL);
	assert_int_equal(verdict.kind, VERDICT_ALLOW);
	assert_true(bytes_is(verdict.credential, "c"));
	policy_free(policy);
}

static void the_trace_names_what_differed_and_no_value(void **state)
{
	static const char text[] = RULES("action: allow, query: {page: "
					 "'[0-9]+'}") "  - {name: h, " HOSTS
						      "action: allow, headers: "
						      "{x-key: a+}}\n";
	struct field items[] = {FIELD("X-Key", "hunter2")};
	struct fields fields = {items, 1, 1};
	struct request_facts facts = request_of(get);
	struct policy *policy = policy_of(text);
	struct buf trace;

	(void)state;
	facts.query = bytes_str("page=swordfish");
	facts.fields = &fields;
	buf_init(&trace, 4096);
	(void)decide_request(policy, &facts, &trace);
	assert_string_equal(buf_str(&trace), "r: another query: page\n"
					     "h: another header: x-key\n"
					     "default: deny\n");
	buf_release(&trace);
	policy_free(policy);
}

static void what_looks_inside_has_tls_terminated(void **state)
{
	static const struct {
		const char *policy;
		enum verdict_kind kind;
		bool inspect;
	} cases[] = {
		{RULES("action: allow"), VERDICT_ALLOW, false},
		{RULES("action: allow, query: {a: b}"), VERDICT_ALLOW, true},
		{RULES("action: allow, headers: {a: b}"), VERDICT_ALLOW, true},
		{RULES("action: allow, body: {max: 1B}"), VERDICT_ALLOW, true},
		{RULES("action: allow, rate: {requests: 1/1s}"), VERDICT_ALLOW,
		 true},
		{RULES("action: allow, websocket: {}"), VERDICT_ALLOW, true},
		{RULES("action: allow") "  script: x\n", VERDICT_ALLOW, true},
		{RULES("action: ask"), VERDICT_ALLOW, true},
		{RULES("action: ask") "  tls: {tunnel: [a.example]}\n",
		 VERDICT_ASK, false},
		{RULES("action: deny, query: {a: b}") "  - {" HOSTS
						      "action: allow}\n",
		 VERDICT_ALLOW, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *policy = policy_of(cases[i].policy);
		struct target_facts facts = target_of("a.example", 443);
		struct verdict verdict = decide_target(policy, &facts, NULL);

		print_message("%zu\n", i);
		assert_int_equal(verdict.kind, cases[i].kind);
		assert_int_equal(verdict.inspect, cases[i].inspect);
		policy_free(policy);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			decide_request_asks_all_of_the_query_and_the_header),
		cmocka_unit_test(
			a_rule_that_asks_holds_the_request_with_its_credential),
		cmocka_unit_test(
			who_asks_by_default_asks_about_names_and_usual_ports),
		cmocka_unit_test(a_websocket_needs_a_rule_that_names_it),
		cmocka_unit_test(grpc_passes_with_a_credential),
		cmocka_unit_test(the_trace_names_what_differed_and_no_value),
		cmocka_unit_test(what_looks_inside_has_tls_terminated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
