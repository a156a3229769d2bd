#include "tests/unit/policies/policy_of.h"

static const struct {
	const char *text, *error;
} rows[] = {
	{"version: 1\ncommands: {}\n", NULL},
	{"version: 1\ncommands: {autonomy: full, allow: [git, npm run test*, "
	 "'*'], deny: [sudo, git push], actions: 200/1h}\n",
	 NULL},
	{"version: 1\ncommands: {autonomy: ful}\n", "did you mean \"full\"?"},
	{"version: 1\ncommands: {alow: [git]}\n", "did you mean \"allow\"?"},
	{"version: 1\ncommands: {allow: git}\n", "this must be a list"},
	{"version: 1\ncommands: {allow: ['git  push']}\n", "one space each"},
	{"version: 1\ncommands: {allow: ['git push ']}\n", "one space each"},
	{"version: 1\ncommands: {allow: ['git*']}\n",
	 "a command's name has no \"*\""},
	{"version: 1\ncommands: {allow: ['* push']}\n",
	 "a command's name has no \"*\""},
	{"version: 1\ncommands: {deny: ['X=1 git']}\n", "has no \"=\""},
	{"version: 1\ncommands: {deny: ['git; ls']}\n", "without quotes"},
	{"version: 1\ncommands: {deny: ['a b c d e f g h i j k l m n o p "
	 "q']}\n",
	 "more than 16 words"},
	{"version: 1\ncommands: {actions: 200}\n", "like 200/1h"},
	{"version: 1\ncommands: {actions: 0/1h}\n", "1 to 100000"},
	{"version: 1\ncommands: {actions: 5/1x}\n", "p.yaml:2:23: "},
	{"version: 1\ncommands: {actions: 5/8d}\n", "more than 7 days"},
	{"version: 1\ncommands: {hold: 10m}\n", NULL},
	{"version: 1\ncommands: {autonomy: supervised, hold: 1ms}\n", NULL},
	{"version: 1\ncommands: {hold: 11m}\n", "more than 10 minutes"},
	{"version: 1\ncommands: {hold: 5}\n", "p.yaml:2:18: "},
	{"version: 1\ncommands: {autonomy: full, hold: 5s}\n",
	 "only autonomy: supervised asks"},
	{"version: 1\ncommands: {hold: 5s, autonomy: read-only}\n",
	 "only autonomy: supervised asks"},
};

static void commands_are_checked_where_they_stand(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		struct policy *policy = policy_try(rows[i].text, &told, NULL);

		if (!policy != !!rows[i].error ||
		    (rows[i].error && !strstr(buf_str(&told), rows[i].error)))
			fail_msg("%s\n%.*s", rows[i].text,
				 BYTES_ARGS(buf_view(&told)));
		policy_free(policy);
		buf_release(&told);
	}
}

static void commands_become_entries_of_words(void **state)
{
	struct policy *policy = policy_of(
		"version: 1\ncommands: {autonomy: full, allow: [git, 'npm run "
		"test*'], actions: 200/1h}\n");
	const struct policy_commands *commands = &policy->commands;

	(void)state;
	assert_true(commands->is_set);
	assert_int_equal(commands->autonomy, AUTONOMY_FULL);
	assert_int_equal(commands->allow.count, 2);
	assert_int_equal(commands->allow.items[1].word_count, 3);
	assert_true(bytes_is(commands->allow.items[1].words[2], "test*"));
	assert_int_equal(commands->deny.count, 0);
	assert_int_equal(commands->actions, 200);
	assert_int_equal(commands->actions_ms, 3600 * 1000);
	assert_int_equal(commands->hold_ms, POLICY_HOLD_DEFAULT_MS);
	policy_free(policy);
	policy = policy_of("version: 1\ncommands: {hold: 2m}\n");
	assert_int_equal(policy->commands.hold_ms, 120000);
	policy_free(policy);
	policy = policy_of("version: 1\n");
	assert_false(policy->commands.is_set);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_checked_where_they_stand),
		cmocka_unit_test(commands_become_entries_of_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
