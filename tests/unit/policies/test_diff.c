#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/diff.h"

#define TEXT_MAX 65536

struct row {
	const char *what;
	const char *before, *after;
	const char *wanted; /* a line for each change */
};

#define RULES(rules)	 "network:\n  rules:\n" rules
#define RULE(name, more) "    - name: " name "\n" more
#define HOSTS(hosts)	 "      hosts: [" hosts "]\n"

static const struct row rows[] = {
	{"the same", "version: 1\nname: a\n", "version: 1\nname: a\n", ""},
	{"written another way", "version: 1\nname: a\n",
	 "# a remark\nname: \"a\"\nversion: 1\n", ""},
	{"a value", "limits: {memory: 1GiB}\n", "limits: {memory: 2GiB}\n",
	 "changed limits.memory 1GiB|2GiB\n"},
	{"a key more", "version: 1\n", "version: 1\nlimits: {processes: 5}\n",
	 "added limits |{processes: 5}\n"},
	{"a key less", "limits: {memory: 1GiB, processes: 5}\n",
	 "limits: {memory: 1GiB}\n", "removed limits.processes 5|\n"},
	{"a rule more", RULES(RULE("one", HOSTS("a.b"))),
	 RULES(RULE("one", HOSTS("a.b")) RULE("two", HOSTS("c.d"))),
	 "added network.rules[two] |{name: two, hosts: [c.d]}\n"},
	{"a rule less, another in its place",
	 RULES(RULE("one", HOSTS("a.b")) RULE("two", HOSTS("c.d"))),
	 RULES(RULE("two", HOSTS("c.d"))),
	 "removed network.rules[one] {name: one, hosts: [a.b]}|\n"},
	{"hosts of a rule, whose order does not matter",
	 RULES(RULE("one", HOSTS("a.b, c.d, e.f"))),
	 RULES(RULE("one", HOSTS("g.h, c.d, a.b"))),
	 "removed network.rules[one].hosts e.f|\n"
	 "added network.rules[one].hosts |g.h\n"},
	{"rules in another order",
	 RULES(RULE("one", HOSTS("a.b")) RULE("two", HOSTS("a.b"))),
	 RULES(RULE("two", HOSTS("a.b")) RULE("one", HOSTS("a.b"))),
	 "moved network.rules [{name: one, hosts: [a.b]}, {name: two, hosts: "
	 "[a.b]}]|[{name: two, hosts: [a.b]}, {name: one, hosts: [a.b]}]\n"},
	{"presets in another order", "extends: [npm, pypi]\n",
	 "extends: [pypi, npm]\n", "moved extends [npm, pypi]|[pypi, npm]\n"},
	{"rules without a name, by their place",
	 RULES("    - hosts: [a.b]\n    - hosts: [c.d]\n"),
	 RULES("    - hosts: [a.b]\n    - hosts: [e.f]\n"),
	 "removed network.rules[1].hosts c.d|\n"
	 "added network.rules[1].hosts |e.f\n"},
	{"a repository's rights",
	 "git:\n  - repo: https://a.b/c/d\n    push: {branches: [x]}\n",
	 "git:\n  - repo: https://a.b/c/d\n    push: {branches: [x, y]}\n",
	 "added git[https://a.b/c/d].push.branches |y\n"},
	{"the same host twice and once", "hosts: [a, a]\n", "hosts: [a]\n",
	 "removed hosts a|\n"},
	{"a list that was a word", "tls: {inspect: auto}\n",
	 "tls: {inspect: [a]}\n", "changed tls.inspect auto|[a]\n"},
};

static void write_changes(const struct policy_diff *diff, struct buf *out)
{
	size_t count = 0;

	for (const struct policy_change *change = diff->first; change;
	     change = change->next, count++)
		assert_int_equal(
			buf_add_format(out, "%s %.*s %.*s|%.*s\n",
				       policy_change_name(change->kind),
				       BYTES_ARGS(change->where),
				       BYTES_ARGS(change->before),
				       BYTES_ARGS(change->after)),
			0);
	assert_int_equal(count, diff->count);
}

static void diff_says_what_differs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		auto_type(buf_release) struct buf out;
		struct policy_diff diff;
		struct err err;

		arena_init(&arena, 1 << 20);
		buf_init(&out, TEXT_MAX);
		assert_int_equal(policy_diff(bytes_str(rows[i].before),
					     bytes_str(rows[i].after), &arena,
					     &diff, &err),
				 0);
		write_changes(&diff, &out);
		if (!bytes_is(buf_view(&out), rows[i].wanted))
			fail_msg("%s: got\n%.*swanted\n%s", rows[i].what,
				 BYTES_ARGS(buf_view(&out)), rows[i].wanted);
	}
}

static void diff_cuts_what_is_long(void **state)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf text;
	struct policy_diff diff;
	struct err err;

	(void)state;
	arena_init(&arena, 1 << 20);
	buf_init(&text, TEXT_MAX);
	(void)buf_add_str(&text, "name: ");
	for (size_t i = 0; i < POLICY_DIFF_VALUE_MAX; i++)
		(void)buf_add_str(&text, "ab");
	assert_int_equal(policy_diff(bytes_str("name: a\n"), buf_view(&text),
				     &arena, &diff, &err),
			 0);
	assert_int_equal(diff.count, 1);
	assert_true(diff.first->after.len < POLICY_DIFF_VALUE_MAX);
}

static void diff_refuses_what_is_no_text(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct policy_diff diff;
	struct err err;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(policy_diff(bytes_str("a: 1\n"), bytes_str("a: ["),
				     &arena, &diff, &err),
			 -1);
	assert_int_equal(err.code, ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(diff_says_what_differs),
		cmocka_unit_test(diff_cuts_what_is_long),
		cmocka_unit_test(diff_refuses_what_is_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
