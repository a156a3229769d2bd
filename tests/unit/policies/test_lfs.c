#include "policies/lfs.h"

#include "policies/scope.h"
#include "policy_of.h"

#define ID "abcdefghijklmnopqrstuvwx23"

static void lfs_endpoint_of_tells_every_endpoint(void **state)
{
	static const struct {
		const char *method, *path, *query;
		enum lfs_endpoint endpoint;
		const char *base;
	} rows[] = {
		{"POST", "/o/r.git/info/lfs/objects/batch", "", LFS_BATCH,
		 "/o/r.git"},
		{"POST", "/o/r/info/lfs/objects/batch", "", LFS_BATCH, "/o/r"},
		{"POST", "/g/s/r.git/info/lfs/locks", "", LFS_LOCK,
		 "/g/s/r.git"},
		{"GET", "/o/r/info/lfs/locks", "path=a", LFS_LOCKS, "/o/r"},
		{"POST", "/o/r/info/lfs/locks/verify", "", LFS_LOCKS_VERIFY,
		 "/o/r"},
		{"POST", "/o/r/info/lfs/locks/a-1_b.c/unlock", "", LFS_UNLOCK,
		 "/o/r"},
		{"PUT", "/o/r/info/lfs/transfers/" ID, "", LFS_TRANSFER,
		 "/o/r"},
		{"GET", "/o/r/info/lfs/objects/batch", "", LFS_OTHER, "/o/r"},
		{"POST", "/o/r/info/lfs/objects/batch", "x", LFS_OTHER, "/o/r"},
		{"POST", "/o/r/info/lfs/locks//unlock", "", LFS_OTHER, "/o/r"},
		{"POST", "/o/r/info/lfs/locks/unlock", "", LFS_OTHER, "/o/r"},
		{"POST", "/o/r/info/lfs/locks/a%2Fb/unlock", "", LFS_OTHER,
		 "/o/r"},
		{"PUT", "/o/r/info/lfs/transfers/" ID "x", "", LFS_OTHER,
		 "/o/r"},
		{"PUT", "/o/r/info/lfs/transfers/" ID, "x", LFS_OTHER, "/o/r"},
		{"POST", "/o/r/info/lfs", "", LFS_OTHER, "/o/r"},
		{"POST", "/o/r/INFO/lfs/objects/batch", "", LFS_OTHER, "/o/r"},
		{"POST", "/o/r/info%3Ba/lfs/objects/batch", "", LFS_OTHER,
		 "/o/r"},
		{"POST", "/o/r/info/lfs./objects/batch", "", LFS_OTHER, "/o/r"},
		{"PUT", "/o/r.git/gitlab-lfs/objects/x/1", "", LFS_OTHER,
		 "/o/r.git"},
		{"POST", "/info/lfs/objects/batch", "", LFS_NONE, ""},
		{"POST", "/o/r/info/lfsx/objects/batch", "", LFS_NONE, ""},
		{"POST", "/o/r/xinfo/lfs/objects", "", LFS_NONE, ""},
		{"GET", "/o/r/info/refs", "", LFS_NONE, ""},
		{"GET", "/o/r/info", "", LFS_NONE, ""},
		{"GET", "/", "", LFS_NONE, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct request_facts facts = request_of((struct request_line){
			rows[i].method, "https", "a.example", rows[i].path,
			rows[i].query});
		struct lfs_path at = {.base = {NULL, 0}};

		print_message("%s %s\n", rows[i].method, rows[i].path);
		assert_int_equal(lfs_endpoint_of(&facts, &at),
				 rows[i].endpoint);
		if (rows[i].endpoint != LFS_NONE)
			assert_true(bytes_is(at.base, rows[i].base));
	}
}

static void a_websocket_is_no_endpoint(void **state)
{
	struct request_facts facts = request_of((struct request_line){
		"GET", "https", "a.example", "/o/r/info/lfs/locks", ""});
	struct lfs_path at;

	(void)state;
	assert_int_equal(lfs_endpoint_of(&facts, &at), LFS_LOCKS);
	facts.is_websocket = true;
	assert_int_equal(lfs_endpoint_of(&facts, &at), LFS_OTHER);
}

/* ---- the policy ---- */

#define GIT_HEAD                                                               \
	"version: 1\n"                                                         \
	"git:\n"                                                               \
	"  - repo: https://code.example/o/r\n"                                 \
	"    read: true\n"

static void objects_go_where_the_policy_says(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool may;
	} rows[] = {
		{"code.example", 443, true},   {"code.example", 8443, false},
		{"a.example", 9000, true},     {"a.example", 443, false},
		{"x.cdn.example", 9000, true}, {"cdn.example", 9000, false},
		{"b.example", 9000, false},
	};
	struct policy *policy = policy_of(
		GIT_HEAD "    lfs: {hosts: [a.example, \"*.cdn.example\"], "
			 "port: 9000}\n");
	auto_type(arena_release) struct arena arena;
	struct scope scope;
	struct err err;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(scope_from_policy(policy, &arena, &scope, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct target_facts facts = {bytes_str(rows[i].host),
						   rows[i].port};

		print_message("%s:%u\n", rows[i].host, rows[i].port);
		assert_int_equal(decide_lfs_storage(&policy->repos[0], &facts),
				 rows[i].may);
		/* The dialer says the same, and the rules open nothing. */
		assert_int_equal(
			scope_allows_target(&scope, facts.host, facts.port),
			rows[i].may);
		if (!bytes_is(facts.host, "code.example"))
			assert_int_equal(
				decide_target(policy, &facts, NULL).kind,
				VERDICT_DENY);
	}
	policy_free(policy);
}

static void github_s_own_storage_is_known(void **state)
{
	const struct target_facts facts = {
		BYTES_LITERAL("github-cloud.s3.amazonaws.com"), 443};
	struct policy *policy = policy_of("version: 1\n"
					  "git:\n"
					  "  - repo: https://github.com/o/r\n"
					  "    read: true\n");

	(void)state;
	assert_true(decide_lfs_storage(&policy->repos[0], &facts));
	policy_free(policy);
	policy = policy_of(GIT_HEAD);
	assert_false(decide_lfs_storage(&policy->repos[0], &facts));
	policy_free(policy);
}

static void a_ref_is_open_when_it_may_be_pushed(void **state)
{
	static const struct {
		const char *push, *ref;
		enum constraint constraint;
	} rows[] = {
		{"{branches: [a]}", "refs/heads/a", CONSTRAINT_none},
		{"{branches: [a]}", "refs/heads/b",
		 CONSTRAINT_push_ref_not_allowed},
		{"{branches: [a]}", "a", CONSTRAINT_push_ref_not_allowed},
		{"{branches: [a]}", "", CONSTRAINT_push_ref_not_allowed},
		{"{branches: [a]}", "refs/tags/a",
		 CONSTRAINT_push_ref_not_allowed},
		{"{tags: [a]}", "refs/tags/a", CONSTRAINT_none},
		{"{branches: [a], verbs: [rewrite]}", "refs/heads/a",
		 CONSTRAINT_none},
		{"{branches: [a], verbs: [delete]}", "refs/heads/a",
		 CONSTRAINT_push_verb_not_allowed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[512];
		struct policy *policy;
		struct verdict verdict;

		(void)snprintf(text, sizeof(text), GIT_HEAD "    push: %s\n",
			       rows[i].push);
		print_message("%s %s\n", rows[i].push, rows[i].ref);
		policy = policy_of(text);
		verdict = decide_lfs_ref(&policy->repos[0],
					 bytes_str(rows[i].ref));
		assert_int_equal(verdict.constraint, rows[i].constraint);
		assert_int_equal(verdict.kind == VERDICT_ALLOW,
				 rows[i].constraint == CONSTRAINT_none);
		policy_free(policy);
	}
}

static void a_credential_goes_to_lfs_by_git_alone(void **state)
{
	struct policy *policy = policy_of(
		"version: 1\n"
		"credentials:\n"
		"  - {name: c, secret: s, attach: bearer, hosts: [a.example]}\n"
		"network:\n"
		"  rules:\n"
		"    - {hosts: [a.example], credential: c, action: allow}\n");
	struct request_facts facts = request_of(
		(struct request_line){"POST", "https", "a.example",
				      "/o/r/info/lfs/objects/batch", ""});

	(void)state;
	assert_int_equal(decide_request(policy, &facts, NULL).constraint,
			 CONSTRAINT_git_not_allowed);
	facts.path = bytes_str("/o/r/info/lfsx");
	assert_int_equal(decide_request(policy, &facts, NULL).kind,
			 VERDICT_ALLOW);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lfs_endpoint_of_tells_every_endpoint),
		cmocka_unit_test(a_websocket_is_no_endpoint),
		cmocka_unit_test(objects_go_where_the_policy_says),
		cmocka_unit_test(github_s_own_storage_is_known),
		cmocka_unit_test(a_ref_is_open_when_it_may_be_pushed),
		cmocka_unit_test(a_credential_goes_to_lfs_by_git_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
