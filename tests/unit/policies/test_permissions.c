#include "policies/permissions.h"

#include "policies/scope.h"
#include "policy_of.h"

#define OWN "https://github.com/acme/widgets"

static void a_permission_is_one_of_three(void **state)
{
	static const struct {
		const char *text;
		bool is_one;
	} rows[] = {
		{"read:repo", true},
		{"push:a", true},
		{"push:agent/42", true},
		{"pull:main", true},
		{"", false},
		{"push:", false},
		{"pull:", false},
		{"read:", false},
		{"read:other", false},
		{"write:repo", false},
		{"push:agent/*", false},
		{"push:a b", false},
		{"push:a..b", false},
		{"push:a.lock", false},
		{"push:HEAD", false},
		{"Push:a", false},
		{"push:a\nread:repo", false},
		{"push:-", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err;

		print_message("%s\n", rows[i].text);
		assert_int_equal(
			permission_check(bytes_str(rows[i].text), &err),
			rows[i].is_one ? 0 : -1);
	}
}

static const char house[] =
	"version: 1\n"
	"git:\n"
	"  - repo: " OWN ".git\n"
	"    read: true\n"
	"    push: {branches: ['agent/*', fix], tags: [v1],\n"
	"           verbs: [create, delete]}\n"
	"  - repo: https://a.example/o/r\n"
	"    read: true\n"
	"    push: {branches: ['**']}\n";

static struct policy *leased(const char *permissions)
{
	struct policy_variables variables = test_variables;
	struct policy_errors errors = {.file = "p.yaml"};

	variables.repo = bytes_str("https://github.com/Acme/Widgets");
	variables.permissions = bytes_str(permissions);
	return policy_compile(bytes_str(house), &variables, &errors);
}

static void a_lease_narrows_what_the_policy_says(void **state)
{
	static const struct {
		const char *permissions, *effective;
		bool reads, others;
		const char *ref;
		bool may_push;
	} rows[] = {
		{"", "push:agent/* push:fix read:repo", true, true,
		 "refs/heads/agent/1", true},
		{"push:agent/1", "push:agent/1", false, false,
		 "refs/heads/agent/1", true},
		{"push:agent/1", "push:agent/1", false, false,
		 "refs/heads/agent/2", false},
		{"push:agent/1 read:repo", "push:agent/1 read:repo", true,
		 false, "refs/heads/fix", false},
		{"push:fix pull:main", "push:fix read:repo", true, false,
		 "refs/heads/fix", true},
		{"push:main", "", false, false, "refs/heads/main", false},
		{"push:agent/1", "push:agent/1", false, false, "refs/tags/v1",
		 false},
		{"", "push:agent/* push:fix read:repo", true, true,
		 "refs/tags/v1", true},
		{"read:repo", "read:repo", true, false, "refs/heads/fix",
		 false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy *policy = leased(rows[i].permissions);
		const struct push_facts facts = {bytes_str(rows[i].ref),
						 PUSH_CREATE};
		auto_type(arena_release) struct arena arena;
		auto_type(buf_release) struct buf out;
		struct scope scope;
		struct err err;
		bool needs_proof;

		print_message("%s: %s\n", rows[i].permissions, rows[i].ref);
		assert_non_null(policy);
		arena_init(&arena, 1 << 20);
		buf_init(&out, 1024);
		assert_int_equal(
			scope_from_policy(policy, &arena, &scope, &err), 0);
		assert_int_equal(
			permissions_write(policy, bytes_str(OWN), &out), 0);
		assert_string_equal(buf_str(&out), rows[i].effective);
		assert_int_equal(decide_fetch(&policy->repos[0]).kind ==
					 VERDICT_ALLOW,
				 rows[i].reads);
		assert_int_equal(decide_fetch(&policy->repos[1]).kind ==
					 VERDICT_ALLOW,
				 rows[i].others);
		assert_int_equal(
			decide_push(&policy->repos[0], &facts, &needs_proof)
					.kind == VERDICT_ALLOW,
			rows[i].may_push);
		/* The courier decides the same. */
		assert_int_equal(scope.repos[0].read, rows[i].reads);
		assert_int_equal(scope_repo_allows_ref(&scope.repos[0],
						       facts.ref, VERB_CREATE),
				 rows[i].may_push);
		policy_free(policy);
	}
}

static void a_malformed_lease_is_no_policy(void **state)
{
	(void)state;
	assert_null(leased("push:agent/1  read:repo"));
	assert_null(leased("everything"));
	assert_null(leased(" "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_permission_is_one_of_three),
		cmocka_unit_test(a_lease_narrows_what_the_policy_says),
		cmocka_unit_test(a_malformed_lease_is_no_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
