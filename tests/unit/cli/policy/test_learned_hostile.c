#include "learning.h"
#include "policies/decide.h"

/* Whoever was inside chose what is on record. */

static void nothing_that_was_asked_for_writes_the_policy(void **state)
{
	static const char *const paths[] = {
		"/*",	 "/**",	      "/\"\n- x",
		"/a: b", "/a #b",     "/\\",
		"/\x7f", "/\xc3\xa9", "/${session.id}",
		"/..",	 "/a//b",     "/a%2fb",
		"/;x",	 "",	      "x",
		"/\"",	 "/{}",	      "/\n  rules: []",
	};
	static const char *const hosts[] = {
		"*",
		"*.example",
		"a\"]\nname: x",
		"a.example\n",
		"A.example",
		"\xc3\xa9",
		"",
		"a b",
		"[::1]",
	};
	struct learned *learned = learned_open(NULL, true);
	struct buf out;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		allow(learned, "GET", "a.example", paths[i]);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		allow(learned, "GET", hosts[i], "/");
	allow(learned, "GET\n", "a.example", "/");
	take(learned, "{\"activity\":\"request\",\"allowed\":true,\"rule\":"
		      "\"https://a.example/o/r\\n\",\"host\":\"a.example\","
		      "\"port\":443,\"method\":\"POST\",\"path\":"
		      "\"/o/r/git-upload-pack\"}");
	take(learned, "{\"activity\":\"dns\",\"allowed\":false,\"host\":"
		      "\"x\\nversion: 2\"}");
	close_into(learned, &out);
	for (struct bytes rest = buf_view(&out), line; rest.len > 0;) {
		(void)bytes_split(&rest, '\n', &line);
		if (!bytes_starts_with(line, bytes_str("# left out: ")))
			print_error("%.*s\n", BYTES_ARGS(line));
		assert_true(bytes_starts_with(line, bytes_str("# left out: ")));
	}
	buf_release(&out);
}

static void odd_paths_that_are_whole_pass_again(void **state)
{
	static const char *const paths[] = {
		"/",	 "/a'b", "/%22",  "/a%20%23b", "/$%7Bx%7D",
		"/@s/p", "/a,b", "/!a&b", "/a=b",      "/%C3%A9",
		"/-",	 "/a:",	 "/null",
	};
	struct learned *learned = learned_open(NULL, false);
	struct policy_errors errors = {.file = "learned"};
	struct policy *policy;
	struct buf out;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		allow(learned, i % 2 ? "GET" : "POST", "a.example", paths[i]);
	buf_init(&out, POLICY_TEXT_MAX);
	assert_int_equal(learned_write(learned, bytes_str("t"), &out, &err), 0);
	policy = policy_compile(buf_view(&out), NULL, &errors);
	assert_non_null(policy);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(paths); i++) {
		const struct request_facts facts = {
			.target = {bytes_str("a.example"), 443},
			.method = bytes_str(i % 2 ? "GET" : "POST"),
			.path = bytes_str(paths[i / 2]),
		};
		struct verdict verdict = decide_request(policy, &facts, NULL);

		assert_int_equal(verdict.kind, i / 2 % 2 == i % 2
						       ? VERDICT_ALLOW
						       : VERDICT_DENY);
	}
	policy_free(policy);
	learned_release(learned);
	free(learned);
	buf_release(&out);
}

static void more_than_a_policy_is_for_is_a_failure(void **state)
{
	struct learned *learned = learned_open(NULL, false);
	struct err err = {0};
	int taken = 0;

	(void)state;
	for (int i = 0; taken == 0 && i <= LEARNED_REQUESTS_MAX; i++) {
		json_t *row = json_pack(
			"{s:s, s:b, s:s, s:i, s:s, s:s}", "activity",
			"connection", "allowed", 1, "host", "a.example", "port",
			i % 60000 + 1, "method", "", "path", "");

		taken = learned_take(learned, row, &err);
		json_decref(row);
		assert_true(taken == 0 || i == LEARNED_REQUESTS_MAX);
	}
	assert_int_equal(taken, -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	learned_release(learned);
	free(learned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_was_asked_for_writes_the_policy),
		cmocka_unit_test(odd_paths_that_are_whole_pass_again),
		cmocka_unit_test(more_than_a_policy_is_for_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
