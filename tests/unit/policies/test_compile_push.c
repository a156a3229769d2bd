/* git[].push: options and commits. */
#include "policy_of.h"

#define PUSH(rest)                                                             \
	"version: 1\ngit: [{repo: 'https://a.example/o/r', push: {branches: "  \
	"[x], " rest "}}]\n"

static void what_is_wrong_is_told(void **state)
{
	static const struct {
		const char *text, *told; /* NULL: it compiles */
	} rows[] = {
		{PUSH("options: ['ci\\.skip', 'a=.*']"), NULL},
		{PUSH("options: []"), NULL},
		{PUSH("options: ['${session.branch}']"), NULL},
		{PUSH("options: ci"), "must be a list"},
		{PUSH("options: ['(']"), "no regular expression"},
		{PUSH("options: [{a: b}]"), "must be"},
		{PUSH("commits: {author: 'a <.*>', committer: x, subject: "
		      "'fix: .+', message: '(?!.*wip).*', max: 20}"),
		 NULL},
		{PUSH("commits: {author: '['}"), "no regular expression"},
		{PUSH("commits: {max: 0}"), "1"},
		{PUSH("commits: {max: many}"), "number"},
		{PUSH("commits: {authors: x}"), "did you mean \"author\""},
		{PUSH("commits: [x]"), "must be a map"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		struct policy *policy = policy_try(rows[i].text, &told, NULL);

		if ((policy == NULL) != (rows[i].told != NULL))
			fail_msg("row %zu: %.*s", i,
				 BYTES_ARGS(buf_view(&told)));
		if (rows[i].told &&
		    bytes_find_bytes(buf_view(&told), bytes_str(rows[i].told),
				     0) < 0)
			fail_msg("row %zu: %.*s", i,
				 BYTES_ARGS(buf_view(&told)));
		buf_release(&told);
		policy_free(policy);
	}
}

static void a_pattern_that_cannot_travel_is_an_error(void **state)
{
	(void)state;
	for (int len = PUSH_PATTERN_LEN_MAX; len <= PUSH_PATTERN_LEN_MAX + 1;
	     len++) {
		char text[4096], pattern[2048];
		struct policy *policy;
		struct buf told;

		memset(pattern, 'x', (size_t)len);
		pattern[len] = '\0';
		(void)snprintf(text, sizeof(text),
			       PUSH("commits: {author: '%s'}"), pattern);
		policy = policy_try(text, &told, NULL);
		assert_int_equal(policy != NULL, len <= PUSH_PATTERN_LEN_MAX);
		buf_release(&told);
		policy_free(policy);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(a_pattern_that_cannot_travel_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
