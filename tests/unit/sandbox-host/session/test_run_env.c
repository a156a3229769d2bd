#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "sandbox-host/session/run_env.h"

static const char policy_text[] =
	"version: 1\n"
	"name: t\n"
	"credentials:\n"
	"  - {name: c, secret: s, attach: github, hosts: [git.example],\n"
	"     placeholder: {env: [FORGE_TOKEN, GH_TOKEN]}}\n"
	"  - {name: d, secret: s, attach: sigv4, hosts: [s3.amazonaws.com],\n"
	"     placeholder: {env: [AWS_ACCESS_KEY_ID, AWS_SECRET]}}\n"
	"git:\n"
	"  - {repo: \"https://git.example:8443/a/b\", credential: c,\n"
	"     read: true}\n"
	"environment: {set: {A: policy, B: policy}}\n";

struct made {
	struct arena arena;
	struct policy *policy;
	struct sandbox_spec spec;
	json_t *placeholders;
};

static void make(struct made *made, const char *const *given, size_t count,
		 json_t *signing)
{
	json_t *placeholders =
		json_pack("{s:s, s:s, s:s}", "FORGE_TOKEN", "ghp_1", "GH_TOKEN",
			  "ghp_1", "B", "placeholder");
	struct policy_errors errors = {.file = "t"};
	struct run_env from = {.placeholders = placeholders,
			       .signing = signing,
			       .caller = (const char *const *)environ,
			       .given = given,
			       .given_count = count};
	struct err err;

	*made = (struct made){0};
	arena_init(&made->arena, 4 * 1024 * 1024);
	made->policy = policy_compile(bytes_str(policy_text), NULL, &errors);
	assert_non_null(made->policy);
	from.policy = made->policy;
	assert_int_equal(run_env_make(&from, &made->arena, &made->spec, &err),
			 0);
	made->placeholders = placeholders;
}

static void release(struct made *made)
{
	json_decref(made->placeholders);
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
	make(&made, given, ARRAY_SIZE(given), NULL);
	assert_string_equal(value_of(&made, "A"), "policy");
	assert_string_equal(value_of(&made, "B"), "given=1");
	assert_string_equal(value_of(&made, "C"), "");
	release(&made);
}

static void placeholders_are_what_control_told(void **state)
{
	static const char *const given[] = {"GH_TOKEN=mine"};
	struct made made;

	(void)state;
	make(&made, NULL, 0, NULL);
	assert_string_equal(value_of(&made, "FORGE_TOKEN"), "ghp_1");
	assert_string_equal(value_of(&made, "GH_TOKEN"), "ghp_1");
	assert_string_equal(value_of(&made, "B"), "placeholder");
	release(&made);
	make(&made, given, ARRAY_SIZE(given), NULL);
	assert_string_equal(value_of(&made, "FORGE_TOKEN"), "ghp_1");
	assert_string_equal(value_of(&made, "GH_TOKEN"), "mine");
	release(&made);
}

/* Is there a setting that makes urls that begin with from begin with to? */
static bool rewrites(const struct made *made, const char *from, const char *to)
{
	unsigned long count =
		strtoul(value_of(made, "GIT_CONFIG_COUNT"), NULL, 10);

	for (unsigned long i = 0; i < count; i++) {
		char key[64], value[64], wanted[128];

		(void)snprintf(key, sizeof(key), "GIT_CONFIG_KEY_%lu", i);
		(void)snprintf(value, sizeof(value), "GIT_CONFIG_VALUE_%lu", i);
		(void)snprintf(wanted, sizeof(wanted), "url.%s.insteadOf", to);
		if (!strcmp(value_of(made, value), from) &&
		    !strcmp(value_of(made, key), wanted))
			return true;
	}
	return false;
}

/* NULL: there is none. */
static const char *setting_of(const struct made *made, const char *wanted)
{
	unsigned long count =
		strtoul(value_of(made, "GIT_CONFIG_COUNT"), NULL, 10);

	for (unsigned long i = 0; i < count; i++) {
		char key[64], value[64];

		(void)snprintf(key, sizeof(key), "GIT_CONFIG_KEY_%lu", i);
		(void)snprintf(value, sizeof(value), "GIT_CONFIG_VALUE_%lu", i);
		if (!strcmp(value_of(made, key), wanted))
			return value_of(made, value);
	}
	return NULL;
}

static void remotes_for_ssh_go_by_https(void **state)
{
	static const struct {
		const char *from, *to;
		bool expected;
	} rows[] = {
		{"git@github.com:", "https://github.com/", true},
		{"git@github.com:/", "https://github.com/", true},
		{"ssh://git@github.com/", "https://github.com/", true},
		{"ssh://git@github.com:22/", "https://github.com/", true},
		{"ssh://git@ssh.github.com:443/", "https://github.com/", true},
		{"ssh://github.com/", "https://github.com/", true},
		{"git+ssh://git@github.com/", "https://github.com/", true},
		{"git://github.com/", "https://github.com/", true},
		{"git@git.example:", "https://git.example:8443/", true},
		{"ssh://git@git.example/", "https://git.example:8443/", true},
		{"ssh://git@altssh.gitlab.com:443/", "https://gitlab.com/",
		 false},
		{"git@other.example:", "https://other.example/", false},
	};
	struct made made;

	(void)state;
	make(&made, NULL, 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rewrites(&made, rows[i].from, rows[i].to) !=
		    rows[i].expected)
			fail_msg("%s", rows[i].from);
	release(&made);
}

static void git_signs_as_the_session_says(void **state)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		{"user.name", "A B"},
		{"user.email", "a@b.example"},
		{"user.signingKey", "/run/sallyport/sign.pub"},
		{"gpg.format", "ssh"},
		{"gpg.ssh.program", "/run/sallyport/sallyport-sign"},
		{"commit.gpgSign", "true"},
		{"tag.gpgSign", "true"},
	};
	json_t *signing =
		json_pack("{s:s, s:s, s:n, s:s}", "name", "A B", "email",
			  "a@b.example", "public_key", "why", "none yet");
	struct made made;

	(void)state;
	make(&made, NULL, 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_null(setting_of(&made, rows[i].key));
	release(&made);
	make(&made, NULL, 0, signing);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(setting_of(&made, rows[i].key),
				    rows[i].value);
	assert_true(rewrites(&made, "git@github.com:", "https://github.com/"));
	release(&made);
	json_decref(signing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_ones_win_over_the_policy),
		cmocka_unit_test(placeholders_are_what_control_told),
		cmocka_unit_test(remotes_for_ssh_go_by_https),
		cmocka_unit_test(git_signs_as_the_session_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
