#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/run_env.h"
#include "common/cleanup.h"

static const char text[] =
	"version: 1\n"
	"name: t\n"
	"credentials:\n"
	"  - {name: c, secret: s, attach: github, hosts: [git.example],\n"
	"     placeholder: {env: [FORGE_TOKEN]}}\n"
	"git:\n"
	"  - {repo: \"https://git.example:8443/a/b\", credential: c,\n"
	"     read: true}\n"
	"environment: {set: {A: policy, B: policy}}\n";

struct made {
	struct arena arena;
	struct policy *policy;
	struct sandbox_spec spec;
};

static void make(struct made *made, const char *const *given, size_t count)
{
	struct policy_errors errors = {.file = "t"};
	struct run_env from = {
		.lease = "LEASE", .given = given, .given_count = count};
	struct err err;

	*made = (struct made){0};
	arena_init(&made->arena, 4 * 1024 * 1024);
	made->policy = policy_compile(bytes_str(text), NULL, &errors);
	assert_non_null(made->policy);
	from.policy = made->policy;
	assert_int_equal(run_env_make(&from, &made->arena, &made->spec, &err),
			 0);
}

static void release(struct made *made)
{
	policy_free(made->policy);
	arena_release(&made->arena);
}

static const char *value_of(const struct made *made, const char *name)
{
	for (size_t i = 0; i < made->spec.env_count; i++)
		if (!strcmp(made->spec.env[i].name, name))
			return made->spec.env[i].value;
	return "(none)";
}

static void given_ones_win_over_the_policy(void **state)
{
	static const char *const given[] = {"B=given=1", "C="};
	struct made made;

	(void)state;
	make(&made, given, ARRAY_SIZE(given));
	assert_string_equal(value_of(&made, "A"), "policy");
	assert_string_equal(value_of(&made, "B"), "given=1");
	assert_string_equal(value_of(&made, "C"), "");
	release(&made);
}

static void placeholders_are_the_lease(void **state)
{
	struct made made;

	(void)state;
	make(&made, NULL, 0);
	assert_string_equal(value_of(&made, "FORGE_TOKEN"), "LEASE");
	release(&made);
}

static void remotes_for_ssh_go_by_https(void **state)
{
	struct made made;

	(void)state;
	make(&made, NULL, 0);
	assert_string_equal(value_of(&made, "GIT_CONFIG_COUNT"), "4");
	assert_string_equal(value_of(&made, "GIT_CONFIG_KEY_2"),
			    "url.https://github.com/.insteadOf");
	assert_string_equal(value_of(&made, "GIT_CONFIG_VALUE_2"),
			    "git@github.com:");
	assert_string_equal(value_of(&made, "GIT_CONFIG_KEY_1"),
			    "url.https://git.example:8443/.insteadOf");
	assert_string_equal(value_of(&made, "GIT_CONFIG_VALUE_1"),
			    "ssh://git@git.example/");
	release(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_ones_win_over_the_policy),
		cmocka_unit_test(placeholders_are_the_lease),
		cmocka_unit_test(remotes_for_ssh_go_by_https),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
