#include "policies/guardrail.h"

#include "policies/scope.h"
#include "policy_of.h"

#define RULES(text) "version: 1\nnetwork:\n  rules:\n" text

/* The session's policy under a guardrail; NULL: under none. */
static struct policy *guarded(const char *text, const char *guardrail)
{
	struct buf told;
	struct policy_errors errors = {.out = &told, .file = "p.yaml"};
	struct policy *policy;

	buf_init(&told, TOLD_MAX);
	policy = guarded_compile(bytes_str(text), bytes_str(guardrail),
				 &test_variables, &errors);
	if (!policy)
		print_error("%.*s", BYTES_ARGS(buf_view(&told)));
	buf_release(&told);
	assert_non_null(policy);
	return policy;
}

static void a_guardrail_says_what_narrows_and_nothing_else(void **state)
{
	static const struct {
		const char *text, *told;
	} rows[] = {
		{RULES("  - {action: deny}\n"), NULL},
		{"version: 1\nname: x\nnetwork: {default: ask, tls: {inspect: "
		 "always}, addresses: {deny: [private]}, limits: {fields: "
		 "50}}\ngit: []\n",
		 NULL},
		{"version: 1\nextends: [npm]\n", "has no \"extends\" here"},
		{"version: 1\ncredentials: []\n", "no \"credentials\" here"},
		{"version: 1\nlimits: {memory: 1GiB}\n", "no \"limits\" here"},
		{"version: 1\nnetwork: {script: x}\n", "no \"script\" here"},
		{"version: 1\nnetwork: {rate: {requests: 1/1s}}\n",
		 "no \"rate\" here"},
		{RULES("  - {hosts: [a.example], action: allow, credential: "
		       "c}\n"),
		 "a guardrail's rule has no \"credential\""},
		{RULES("  - {hosts: [a.example], action: allow, websocket: "
		       "{}}\n"),
		 NULL},
		{RULES("  - {hosts: [a.example], action: allow, websocket: "
		       "{binary: true}}\n"),
		 "allows WebSockets by {} or {secrets: deny} alone"},
		{RULES("  - {hosts: [a.example], action: allow, websocket: "
		       "{secrets: deny, message: 1KiB}}\n"),
		 "allows WebSockets by {} or {secrets: deny} alone"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		struct policy_errors errors = {.out = &told, .file = "g.yaml"};
		struct policy *policy;

		buf_init(&told, TOLD_MAX);
		policy = guardrail_compile(bytes_str(rows[i].text), NULL,
					   &errors);
		print_message("%s%s\n", rows[i].text, buf_str(&told));
		assert_int_equal(policy == NULL, rows[i].told != NULL);
		if (rows[i].told)
			assert_non_null(strstr(buf_str(&told), rows[i].told));
		policy_free(policy);
		buf_release(&told);
	}
}

static const char session[] =
	RULES("  - {name: a, hosts: [a.example, '*.b.example'], action: "
	      "allow}\n"
	      "  - {name: c, hosts: [c.example], methods: [GET, POST], action: "
	      "allow}\n"
	      "  - {name: k, hosts: [k.example], action: ask}\n"
	      "  - {name: l, hosts: [l.example], action: allow, body: {max: "
	      "1KiB}}\n"
	      "  - {name: w, hosts: [w.example], action: allow, websocket: "
	      "{}}\n"
	      "  - {name: t, hosts: [t.example, u.example], action: allow}\n"
	      "  tls: {tunnel: [t.example, u.example]}\n");

static const char guard[] =
	RULES("  - {name: x, hosts: [x.b.example], action: deny, reason: no}\n"
	      "  - {name: c, hosts: [c.example], methods: [GET], action: "
	      "allow}\n"
	      "  - {name: ask, hosts: [y.b.example], action: ask}\n"
	      "  - {name: l, hosts: [l.example], action: allow, body: {max: "
	      "2KiB}}\n"
	      "  - {name: t, hosts: [t.example], methods: [GET], action: "
	      "allow}\n"
	      "  - {name: rest, hosts: ['*.b.example', k.example, w.example, "
	      "z.example, u.example], action: allow}\n");

struct expected {
	enum verdict_kind kind;
	enum constraint constraint;
	const char *rule;
};

static const struct row {
	const char *method, *host;
	bool is_websocket;
	struct expected with, without;
} rows[] = {
	{"GET",
	 "a.example",
	 false,
	 {VERDICT_DENY, CONSTRAINT_host_not_allowed, "guardrail/default"},
	 {VERDICT_ALLOW, CONSTRAINT_none, "a"}},
	{"GET",
	 "q.b.example",
	 false,
	 {VERDICT_ALLOW, CONSTRAINT_none, "a"},
	 {VERDICT_ALLOW, CONSTRAINT_none, "a"}},
	{"GET",
	 "x.b.example",
	 false,
	 {VERDICT_DENY, CONSTRAINT_denied_by_rule, "guardrail/x"},
	 {VERDICT_ALLOW, CONSTRAINT_none, "a"}},
	{"GET",
	 "y.b.example",
	 false,
	 {VERDICT_ASK, CONSTRAINT_approval_pending, "guardrail/ask"},
	 {VERDICT_ALLOW, CONSTRAINT_none, "a"}},
	{"GET",
	 "c.example",
	 false,
	 {VERDICT_ALLOW, CONSTRAINT_none, "c"},
	 {VERDICT_ALLOW, CONSTRAINT_none, "c"}},
	{"POST",
	 "c.example",
	 false,
	 {VERDICT_DENY, CONSTRAINT_method_not_allowed, "guardrail/default"},
	 {VERDICT_ALLOW, CONSTRAINT_none, "c"}},
	{"GET",
	 "k.example",
	 false,
	 {VERDICT_ASK, CONSTRAINT_approval_pending, "k"},
	 {VERDICT_ASK, CONSTRAINT_approval_pending, "k"}},
	{"POST",
	 "l.example",
	 false,
	 {VERDICT_LOOK, CONSTRAINT_body_unreadable, "l"},
	 {VERDICT_LOOK, CONSTRAINT_body_unreadable, "l"}},
	/* what it allows the policy still must */
	{"GET",
	 "z.example",
	 false,
	 {VERDICT_DENY, CONSTRAINT_host_not_allowed, "default"},
	 {VERDICT_DENY, CONSTRAINT_host_not_allowed, "default"}},
	{"GET",
	 "w.example",
	 true,
	 {VERDICT_DENY, CONSTRAINT_websocket_not_allowed, "guardrail/default"},
	 {VERDICT_ALLOW, CONSTRAINT_none, "w"}},
};

static void assert_verdict(const struct verdict *verdict,
			   const struct expected *expected)
{
	assert_int_equal(verdict->kind, expected->kind);
	assert_string_equal(constraint_name(verdict->constraint),
			    constraint_name(expected->constraint));
	assert_true(bytes_is(verdict->rule, expected->rule));
	assert_int_equal(guardrail_spoke(verdict),
			 strncmp(expected->rule, "guardrail/", 10) == 0);
}

static void a_request_passes_when_both_let_it(void **state)
{
	struct policy *with = guarded(session, guard);
	struct policy *without = guarded(session, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct request_facts facts = request_of((struct request_line){
			rows[i].method, "https", rows[i].host, "/", ""});
		struct verdict verdict;

		facts.is_websocket = rows[i].is_websocket;
		print_message("%s %s\n", rows[i].method, rows[i].host);
		verdict = decide_request(without, &facts, NULL);
		assert_verdict(&verdict, &rows[i].without);
		assert_null(verdict.guard);
		verdict = decide_request(with, &facts, NULL);
		assert_verdict(&verdict, &rows[i].with);
		if (verdict.kind == VERDICT_ALLOW)
			assert_non_null(verdict.guard);
		if (verdict.kind == VERDICT_LOOK)
			assert_int_equal(verdict.look_max, 2048);
	}
	policy_free(with);
	policy_free(without);
}

static void what_must_be_inspected_is_no_tunnel(void **state)
{
	static const struct {
		const char *host;
		enum verdict_kind kind;
		bool inspect;
	} targets[] = {
		{"q.b.example", VERDICT_ALLOW, true},
		{"t.example", VERDICT_DENY, false},
		{"u.example", VERDICT_ALLOW, false},
		{"x.b.example", VERDICT_DENY, false},
		{"a.example", VERDICT_DENY, false},
		{"z.example", VERDICT_DENY, false},
	};
	struct policy *policy = guarded(
		session, RULES("  - {hosts: [x.b.example], action: deny}\n"
			       "  - {hosts: [t.example, q.b.example], methods: "
			       "[GET], action: allow}\n"
			       "  - {hosts: [u.example, z.example], action: "
			       "allow}\n"));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct target_facts facts = target_of(targets[i].host, 443);
		struct verdict verdict = decide_target(policy, &facts, NULL);

		print_message("%s\n", targets[i].host);
		assert_int_equal(verdict.kind, targets[i].kind);
		if (verdict.kind == VERDICT_ALLOW)
			assert_int_equal(verdict.inspect, targets[i].inspect);
	}
	policy_free(policy);
}

/* Nobody asks once about a tunnel that hides what the policy looks at. */
static void asking_about_a_tunnel_does_not_make_one(void **state)
{
	static const char asks[] =
		"version: 1\nnetwork:\n  tls: {tunnel: [x.example]}\n"
		"  rules: [{hosts: [x.example], action: ask}]\n";
	static const struct {
		const char *tls;
		enum verdict_kind kind;
	} asked[] = {
		{"", VERDICT_ALLOW},
		{"  tls: {tunnel: [x.example]}\n", VERDICT_ASK},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct target_facts facts = target_of("x.example", 443);
		struct verdict verdict;
		struct policy *policy;
		char text[256];

		(void)snprintf(text, sizeof(text),
			       "version: 1\nnetwork:\n%s  rules:\n"
			       "    - {hosts: [x.example], action: allow}\n",
			       asked[i].tls);
		policy = guarded(text, asks);
		verdict = decide_target(policy, &facts, NULL);
		assert_int_equal(verdict.kind, asked[i].kind);
		if (verdict.kind == VERDICT_ALLOW)
			assert_true(verdict.inspect);
		policy_free(policy);
	}
}

#define GIT(text)                                                              \
	"version: 1\ngit:\n  - {repo: 'https://git.example/o/r', " text "}\n"

static const char git[] =
	GIT("read: true, push: {branches: ['agent/*', main], verbs: "
	    "[create, fast-forward, rewrite]}");

static void git_is_narrowed_to_what_the_guardrail_says_of_it(void **state)
{
	static const struct {
		const char *guardrail, *ref;
		enum push_verb verb;
		bool reads, pushes, needs_proof;
	} cases[] = {
		{NULL, "refs/heads/main", PUSH_UPDATE, true, true, false},
		{GIT("read: true, push: {branches: ['agent/**']}"),
		 "refs/heads/main", PUSH_UPDATE, true, false, false},
		{GIT("read: true, push: {branches: ['agent/**']}"),
		 "refs/heads/agent/1", PUSH_UPDATE, true, true, true},
		{GIT("read: true, push: {branches: ['agent/**']}"),
		 "refs/heads/agent/1", PUSH_REWRITE, true, false, false},
		{GIT("push: {branches: ['**'], verbs: [rewrite]}"),
		 "refs/heads/main", PUSH_REWRITE, false, true, false},
		{GIT("push: {branches: ['**'], verbs: [rewrite]}"),
		 "refs/heads/main", PUSH_CREATE, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *policy = guarded(git, cases[i].guardrail);
		struct push_facts facts = {bytes_str(cases[i].ref),
					   cases[i].verb};
		bool needs_proof;
		struct verdict verdict =
			decide_push(&policy->repos[0], &facts, &needs_proof);

		print_message("%zu\n", i);
		assert_int_equal(verdict.kind == VERDICT_ALLOW,
				 cases[i].pushes);
		assert_int_equal(needs_proof, cases[i].needs_proof);
		assert_int_equal(decide_fetch(&policy->repos[0]).kind ==
					 VERDICT_ALLOW,
				 cases[i].reads);
		policy_free(policy);
	}
}

static void only_what_a_guardrail_says_narrows_the_limits(void **state)
{
	static const char own[] =
		RULES("  - {action: deny}\n") "  limits: {dns-names: 5000, "
					      "fields: 20}\n";
	static const char silent[] = RULES("  - {action: deny}\n");
	static const char says[] =
		RULES("  - {action: deny}\n") "  limits: {dns-names: 30, "
					      "fields: 90}\n";
	static const struct {
		const char *own, *guardrail;
		uint64_t names, fields, idle_ms;
	} cases[] = {
		{own, NULL, 5000, 20, 120000},
		{own, silent, 5000, 20, 120000},
		{own, says, 30, 20, 120000},
		{silent, silent, 600, 100, 120000},
		{silent, says, 30, 90, 120000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *policy =
			guarded(cases[i].own, cases[i].guardrail);
		const struct network_limits *limits = &policy->network_limits;

		assert_int_equal(limits->dns_names, cases[i].names);
		assert_int_equal(limits->fields, cases[i].fields);
		assert_int_equal(limits->idle_ms, cases[i].idle_ms);
		policy_free(policy);
	}
}

static void the_stricter_limit_of_a_push_holds(void **state)
{
	static const char own[] =
		GIT("push: {branches: [x], limits: {pack: 1MiB, file: 9KiB}}");
	static const char guardrail[] =
		GIT("push: {branches: [x], limits: {pack: 2MiB, file: 4KiB, "
		    "objects: 7}}");
	static const struct {
		const char *own, *guardrail;
		uint64_t pack, file, objects;
	} cases[] = {
		{own, NULL, 1 << 20, 9 << 10, 0},
		{own, git, 1 << 20, 9 << 10, 0},
		{git, own, 1 << 20, 9 << 10, 0},
		{own, guardrail, 1 << 20, 4 << 10, 7},
		{guardrail, own, 1 << 20, 4 << 10, 7},
		{git, git, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *policy =
			guarded(cases[i].own, cases[i].guardrail);
		struct push_checks checks = push_checks_of(&policy->repos[0]);

		assert_int_equal(checks.pack_bytes_max, cases[i].pack);
		assert_int_equal(checks.file_bytes_max, cases[i].file);
		assert_int_equal(checks.objects_max, cases[i].objects);
		assert_int_equal(push_checks_any(&policy->repos[0]),
				 cases[i].pack > 0);
		policy_free(policy);
	}
}

static void git_goes_by_the_guardrails_rules_where_it_names_none(void **state)
{
	static const struct {
		const char *guardrail;
		enum verdict_kind kind;
	} cases[] = {
		{NULL, VERDICT_ALLOW},
		{RULES("  - {hosts: ['*'], action: allow}\n"), VERDICT_ALLOW},
		{RULES("  - {hosts: ['*'], methods: [GET], action: allow}\n"),
		 VERDICT_DENY},
		{RULES("  - {hosts: ['*'], action: ask}\n"), VERDICT_DENY},
		{RULES("  - {hosts: [b.example], action: allow}\n"),
		 VERDICT_DENY},
		{GIT("read: true"), VERDICT_ALLOW},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy *policy = guarded(git, cases[i].guardrail);
		struct request_facts facts = request_of(
			(struct request_line){"POST", "https", "git.example",
					      "/o/r/git-upload-pack", ""});

		print_message("%zu\n", i);
		assert_int_equal(
			guard_git(policy, &facts, &policy->repos[0], NULL).kind,
			cases[i].kind);
		policy_free(policy);
	}
}

/* A rule of the session must not lead around `git` of the guardrail. */
static void a_rule_pushes_nothing_that_the_guardrails_git_names(void **state)
{
	static const char open[] =
		RULES("  - {hosts: [git.example], action: allow}\n");
	static const struct {
		const char *path;
		enum verdict_kind kind;
	} cases[] = {
		{"/o/r/git-upload-pack", VERDICT_ALLOW},
		{"/o/r/git-receive-pack", VERDICT_DENY},
		{"/o/r/objects/info/packs", VERDICT_DENY},
		{"/o/other/git-receive-pack", VERDICT_DENY},
	};
	struct policy *with = guarded(open, GIT("read: true"));
	struct policy *without = guarded(open, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request_facts facts = request_of((struct request_line){
			"POST", "https", "git.example", cases[i].path, ""});

		print_message("%s\n", cases[i].path);
		assert_int_equal(decide_request(with, &facts, NULL).kind,
				 cases[i].kind);
		assert_int_equal(decide_request(without, &facts, NULL).kind,
				 VERDICT_ALLOW);
	}
	policy_free(with);
	policy_free(without);
}

static void the_scope_holds_what_both_hold(void **state)
{
	static const char text[] =
		RULES("  - {hosts: [a.example, x.b.example, '*.b.example', "
		      "'*'], action: allow}\n"
		      "  addresses: {allow: [10.0.0.0/8, 127.0.0.1/32]}\n");
	static const char by[] =
		RULES("  - {hosts: [x.b.example], action: deny}\n"
		      "  - {hosts: ['*.b.example', '*.c.example'], ports: "
		      "[443], action: allow}\n"
		      "  addresses: {deny: [private, loopback, 192.0.2.0/24], "
		      "allow: [10.1.0.0/16]}\n");
	static const struct {
		const char *host;
		uint16_t port;
		bool is_open;
	} hosts[] = {
		{"a.example", 443, false},   {"q.b.example", 443, true},
		{"q.b.example", 80, false},  {"q.c.example", 443, true},
		{"q.d.example", 443, false},
	};
	struct policy *policy = guarded(text, by);
	struct arena arena;
	struct scope scope;
	struct err err;

	(void)state;
	arena_init(&arena, 1024 * 1024);
	assert_int_equal(scope_from_policy(policy, &arena, &scope, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		print_message("%s:%u\n", hosts[i].host, hosts[i].port);
		assert_int_equal(scope_allows_target(&scope,
						     bytes_str(hosts[i].host),
						     hosts[i].port),
				 hosts[i].is_open);
	}
	assert_int_equal(scope.deny_count, 1);
	assert_int_equal(scope.allow_count, 1);
	assert_int_equal(scope.allow[0].prefix, 96 + 16);
	arena_release(&arena);
	policy_free(policy);
}

static void the_scope_of_a_repository_is_narrowed(void **state)
{
	struct policy *policy =
		guarded(git, GIT("push: {branches: ['agent/**', 'm*'], verbs: "
				 "[create, delete]}"));
	struct arena arena;
	struct scope scope;
	struct err err;
	const struct scope_repo *repo;

	(void)state;
	arena_init(&arena, 1024 * 1024);
	assert_int_equal(scope_from_policy(policy, &arena, &scope, &err), 0);
	assert_int_equal(scope.repos_count, 1);
	repo = &scope.repos[0];
	assert_false(repo->read);
	assert_int_equal(repo->verbs, VERB_CREATE);
	assert_true(scope_repo_allows_ref(repo, bytes_str("refs/heads/agent/1"),
					  VERB_CREATE));
	assert_true(scope_repo_allows_ref(repo, bytes_str("refs/heads/main"),
					  VERB_CREATE));
	assert_false(scope_repo_allows_ref(repo, bytes_str("refs/heads/mine"),
					   VERB_CREATE));
	arena_release(&arena);
	policy_free(policy);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_guardrail_says_what_narrows_and_nothing_else),
		cmocka_unit_test(a_request_passes_when_both_let_it),
		cmocka_unit_test(only_what_a_guardrail_says_narrows_the_limits),
		cmocka_unit_test(the_stricter_limit_of_a_push_holds),
		cmocka_unit_test(what_must_be_inspected_is_no_tunnel),
		cmocka_unit_test(asking_about_a_tunnel_does_not_make_one),
		cmocka_unit_test(
			git_is_narrowed_to_what_the_guardrail_says_of_it),
		cmocka_unit_test(
			git_goes_by_the_guardrails_rules_where_it_names_none),
		cmocka_unit_test(
			a_rule_pushes_nothing_that_the_guardrails_git_names),
		cmocka_unit_test(the_scope_holds_what_both_hold),
		cmocka_unit_test(the_scope_of_a_repository_is_narrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
