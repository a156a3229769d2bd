#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "sandbox-host/environment.h"

#define ARENA_MAX (1024 * 1024)

static const char *const caller[] = {
	"HOME=/home/u",	 "PATH=/opt/bin",    "LANG=C.UTF-8",
	"LC_TIME=de_DE", "GITHUB_TOKEN=x",   "AWS_SECRET_ACCESS_KEY=y",
	"EDITOR=vi",	 "OTHER=z",	     "LD_PRELOAD=/x.so",
	"HTTPS_PROXY=p", "SSH_AUTH_SOCK=/s", NULL,
};

struct made {
	struct arena arena;
	const struct sandbox_variable *list;
	size_t count;
};

static const char *value_in(const struct made *made, const char *name)
{
	const char *value = NULL;
	unsigned found = 0;

	for (size_t i = 0; i < made->count; i++) {
		if (strcmp(made->list[i].name, name) != 0)
			continue;
		value = made->list[i].value;
		found++;
	}
	assert_true(found <= 1);
	return value;
}

static struct made make(struct environment from)
{
	struct made made;
	struct err err = {0};

	from.caller = caller;
	arena_init(&made.arena, ARENA_MAX);
	if (environment_make(&from, &made.arena, &made.list, &made.count,
			     &err) < 0)
		fail_msg("%s", err.text);
	return made;
}

static void environment_keeps_a_few_and_no_more(void **state)
{
	struct made made = make((struct environment){0});

	(void)state;
	assert_string_equal(value_in(&made, "HOME"), "/home/u");
	assert_string_equal(value_in(&made, "PATH"), "/opt/bin");
	assert_string_equal(value_in(&made, "LC_TIME"), "de_DE");
	assert_null(value_in(&made, "OTHER"));
	assert_null(value_in(&made, "GITHUB_TOKEN"));
	assert_null(value_in(&made, "AWS_SECRET_ACCESS_KEY"));
	assert_null(value_in(&made, "SSH_AUTH_SOCK"));
	assert_null(value_in(&made, "LD_PRELOAD"));
	arena_release(&made.arena);
}

static void environment_points_programs_at_the_proxy(void **state)
{
	struct made made = make((struct environment){0});

	(void)state;
	assert_string_equal(value_in(&made, "HTTPS_PROXY"),
			    "http://198.18.0.1:3128");
	assert_string_equal(value_in(&made, "http_proxy"),
			    "http://198.18.0.1:3128");
	assert_string_equal(value_in(&made, "no_proxy"),
			    "localhost,127.0.0.1,::1");
	assert_null(value_in(&made, "ALL_PROXY"));
	assert_null(value_in(&made, "SSL_CERT_FILE"));
	arena_release(&made.arena);
}

static void environment_names_the_ca_where_each_tool_looks(void **state)
{
	static const char *const names[] = {
		"SSL_CERT_FILE",      "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS",
		"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
		"AWS_CA_BUNDLE",      "DENO_CERT",	"CARGO_HTTP_CAINFO",
		"GIT_SSL_CAPATH",
	};
	struct made made = make((struct environment){.has_ca = true});

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = value_in(&made, names[i]);

		assert_non_null(value);
		assert_memory_equal(value, "/run/sallyport/", 15);
	}
	arena_release(&made.arena);
}

static void environment_has_java_options_with_a_truststore(void **state)
{
	struct made made = make((struct environment){.has_ca = true});
	struct made bare = make((struct environment){0});

	(void)state;
	assert_null(value_in(&bare, "JAVA_TOOL_OPTIONS"));
	arena_release(&bare.arena);
	assert_non_null(strstr(value_in(&made, "JAVA_TOOL_OPTIONS"),
			       "trustStore=/run/sallyport/ca.p12 "));
	arena_release(&made.arena);
}

static void environment_lets_set_win(void **state)
{
	const struct sandbox_variable set[] = {{"HTTPS_PROXY", "mine"},
					       {"GITHUB_TOKEN", "ghp_fake"}};
	struct made made =
		make((struct environment){.set = set, .set_count = 2});

	(void)state;
	assert_string_equal(value_in(&made, "HTTPS_PROXY"), "mine");
	assert_string_equal(value_in(&made, "GITHUB_TOKEN"), "ghp_fake");
	arena_release(&made.arena);
}

static void
environment_puts_an_images_over_the_callers_and_no_others(void **state)
{
	const char *const pass[] = {"OTHER"};
	const struct sandbox_variable image[] = {
		{"PATH", "/image"},  {"HTTPS_PROXY", "theirs"},
		{"OTHER", "theirs"}, {"SSL_CERT_FILE", "theirs"},
		{"GIVEN", "theirs"}, {"ALONE", "theirs"},
	};
	const struct sandbox_variable set[] = {{"GIVEN", "mine"}};
	struct made made = make((struct environment){.image = image,
						     .image_count = 6,
						     .pass = {pass, 1},
						     .has_ca = true,
						     .set = set,
						     .set_count = 1});

	(void)state;
	assert_string_equal(value_in(&made, "PATH"), "/image");
	assert_string_equal(value_in(&made, "ALONE"), "theirs");
	assert_string_equal(value_in(&made, "HOME"), "/home/u");
	assert_string_equal(value_in(&made, "OTHER"), "z");
	assert_string_equal(value_in(&made, "HTTPS_PROXY"),
			    "http://198.18.0.1:3128");
	assert_memory_equal(value_in(&made, "SSL_CERT_FILE"), "/run/", 5);
	assert_string_equal(value_in(&made, "GIVEN"), "mine");
	arena_release(&made.arena);
}

static void note_dropped(void *owner, const char *name)
{
	snprintf(owner, 64, "%s", name);
}

static void environment_passes_names_but_no_credentials(void **state)
{
	const char *const good[] = {"OTHER", "ABSENT"};
	const char *const bad[] = {"GITHUB_TOKEN"};
	char dropped[64] = "";
	struct environment from = {.caller = caller,
				   .pass = {bad, 1},
				   .on_dropped = note_dropped,
				   .owner = dropped};
	struct made made = make((struct environment){.pass = {good, 2}});
	struct err err = {0};

	(void)state;
	assert_string_equal(value_in(&made, "OTHER"), "z");
	assert_null(value_in(&made, "ABSENT"));
	arena_reset(&made.arena);
	assert_int_equal(environment_make(&from, &made.arena, &made.list,
					  &made.count, &err),
			 0);
	assert_null(value_in(&made, "GITHUB_TOKEN"));
	assert_string_equal(dropped, "GITHUB_TOKEN");
	arena_release(&made.arena);
}

static void environment_knows_names_of_secrets(void **state)
{
	static const struct {
		const char *name;
		bool is_secret;
	} rows[] = {
		{"NPM_TOKEN", true},
		{"DB_PASSWORD", true},
		{"OPENAI_API_KEY", true},
		{"AWS_ACCESS_KEY_ID", true},
		{"SSH_AUTH_SOCK", true},
		{"KUBECONFIG", true},
		{"CI", false},
		{"KEYBOARD", false},
		{"TOKENIZERS_PARALLELISM", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (environment_is_secret(rows[i].name) != rows[i].is_secret)
			fail_msg("%s", rows[i].name);
}

static void environment_refuses_names_that_are_none(void **state)
{
	const struct sandbox_variable rows[] = {{"", "x"}, {"A=B", "x"}};
	struct arena arena;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct environment from = {
			.caller = caller, .set = &rows[i], .set_count = 1};
		const struct sandbox_variable *list;
		size_t count;

		assert_int_equal(
			environment_make(&from, &arena, &list, &count, NULL),
			-1);
		arena_reset(&arena);
	}
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_keeps_a_few_and_no_more),
		cmocka_unit_test(environment_points_programs_at_the_proxy),
		cmocka_unit_test(
			environment_names_the_ca_where_each_tool_looks),
		cmocka_unit_test(
			environment_has_java_options_with_a_truststore),
		cmocka_unit_test(environment_lets_set_win),
		cmocka_unit_test(
			environment_puts_an_images_over_the_callers_and_no_others),
		cmocka_unit_test(environment_passes_names_but_no_credentials),
		cmocka_unit_test(environment_knows_names_of_secrets),
		cmocka_unit_test(environment_refuses_names_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
