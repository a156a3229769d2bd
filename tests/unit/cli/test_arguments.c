#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <getopt.h>

#include "cli/arguments.h"
#include "common/cleanup.h"

#define WORDS_MAX 8

/* A command line that can be changed. */
struct line {
	char *words[WORDS_MAX + 1];
	int count;
};

static struct line line_of(const char *const *words)
{
	struct line line = {.count = 0};

	while (words[line.count]) {
		line.words[line.count] = (char *)(uintptr_t)words[line.count];
		line.count++;
	}
	return line;
}

static struct cli cli_of(struct line *line, const char *noun, const char *verb)
{
	struct cli cli = {.argc = line->count, .argv = line->words};
	char *words[] = {(char *)(uintptr_t)"sallyport",
			 (char *)(uintptr_t)noun, (char *)(uintptr_t)verb};
	int used;

	cli.command = arguments_find(verb ? 3 : 2, words, &used);
	assert_non_null(cli.command);
	optind = 0;
	opterr = 0;
	return cli;
}

static void arguments_find_a_noun_and_its_verb(void **state)
{
	char *with[] = {(char *)(uintptr_t)"sallyport",
			(char *)(uintptr_t)"session", (char *)(uintptr_t)"list",
			(char *)(uintptr_t)"x"};
	char *alone[] = {(char *)(uintptr_t)"sallyport",
			 (char *)(uintptr_t)"status"};
	int used = 0;

	(void)state;
	assert_string_equal(arguments_find(4, with, &used)->verb, "list");
	assert_int_equal(used, 3);
	assert_string_equal(arguments_find(2, alone, &used)->noun, "status");
	assert_int_equal(used, 2);
	assert_null(arguments_find(2, with, &used));
	with[2] = (char *)(uintptr_t)"nosuch";
	assert_null(arguments_find(4, with, &used));
	assert_null(arguments_find(1, with, &used));
}

static void arguments_take_the_output_wherever_it_stands(void **state)
{
	static const char *const rows[][WORDS_MAX] = {
		{"c", "-o", "json", "w"},    {"c", "w", "-o", "json"},
		{"c", "-ojson", "w"},	     {"c", "--output", "json", "w"},
		{"c", "w", "--output=json"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct line line = line_of(rows[i]);
		struct cli cli = cli_of(&line, "session", "show");

		assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
		assert_true(cli.json);
		assert_int_equal(cli.argc, 2);
		assert_string_equal(cli.argv[1], "w");
		assert_null(cli.argv[2]);
	}
}

static void arguments_refuse_an_output_that_is_not_known(void **state)
{
	static const char *const rows[][WORDS_MAX] = {
		{"c", "-o", "xml"}, {"c", "-o"}, {"c", "--output="}};
	static const char *const known[] = {"c", "-o", "table", NULL};
	static const char *const yaml[] = {"c", "-o", "yaml", NULL};
	struct line line = line_of(known);
	struct cli cli = cli_of(&line, "status", NULL);

	(void)state;
	assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
	assert_false(cli.json);
	line = line_of(yaml);
	cli = cli_of(&line, "status", NULL);
	assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
	assert_true(cli.json && cli.yaml);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		line = line_of(rows[i]);
		cli = cli_of(&line, "status", NULL);
		assert_int_equal(arguments_take_common(&cli), ARGUMENTS_WRONG);
	}
}

static void arguments_refuse_a_value_of_what_prints_none(void **state)
{
	static const char *const rows[][WORDS_MAX] = {
		{"c", "x", "-o", "json"}, {"c", "--output=yaml", "x"}};
	static const char *const table[] = {"c", "x", "-o", "table", NULL};
	struct line line;
	struct cli cli;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		line = line_of(rows[i]);
		cli = cli_of(&line, "secret", "rm");
		assert_int_equal(arguments_take_common(&cli), ARGUMENTS_WRONG);
		/* Its twin: one that has a value. */
		line = line_of(rows[i]);
		cli = cli_of(&line, "session", "show");
		assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
	}
	line = line_of(table);
	cli = cli_of(&line, "secret", "rm");
	assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
}

static void arguments_leave_a_file_that_is_written_alone(void **state)
{
	static const char *const words[] = {"c", "-o", "json", NULL};
	struct line line = line_of(words);
	struct cli cli = cli_of(&line, "policy", "learn");

	(void)state;
	assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
	assert_int_equal(cli.argc, 3);
	assert_false(cli.json);
}

static void arguments_leave_the_words_of_run_alone(void **state)
{
	static const char *const words[] = {"c",    "ls",     "-o",
					    "json", "--help", NULL};
	struct line line = line_of(words);
	struct cli cli = cli_of(&line, "run", NULL);

	(void)state;
	assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
	assert_int_equal(cli.argc, 5);
	/* Its twin: any other command takes them. */
	cli = cli_of(&line, "status", NULL);
	assert_int_equal(arguments_take_common(&cli), ARGUMENTS_HELP);
}

static void arguments_after_two_dashes_are_words(void **state)
{
	static const char *const words[] = {"c", "--", "--help", NULL};
	struct line line = line_of(words);
	struct cli cli = cli_of(&line, "secret", "rm");

	(void)state;
	assert_int_equal(arguments_take_common(&cli), ARGUMENTS_GO_ON);
	assert_int_equal(arguments_words(&cli, 1, 1), 0);
	assert_string_equal(cli.argv[optind], "--help");
}

static void arguments_count_words_and_refuse_options(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		int min, max, result;
	} rows[] = {
		{{"c"}, 0, 0, 0},	    {{"c", "a"}, 1, 1, 0},
		{{"c", "a"}, 0, 0, -1},	    {{"c"}, 1, 1, -1},
		{{"c", "--x"}, 1, 1, -1},   {{"c", "a", "-x"}, 1, 2, -1},
		{{"c", "a", "b"}, 1, 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct line line = line_of(rows[i].words);
		struct cli cli = cli_of(&line, "secret", "rm");

		assert_int_equal(
			arguments_words(&cli, rows[i].min, rows[i].max),
			rows[i].result);
	}
}

static void every_command_has_a_usage_and_a_summary(void **state)
{
	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		char usage[64];

		(void)snprintf(usage, sizeof(usage), "Usage: sallyport %s%s%s",
			       commands[i].noun, commands[i].verb ? " " : "",
			       commands[i].verb ? commands[i].verb : "");
		assert_memory_equal(commands[i].help, usage, strlen(usage));
		assert_true(strlen(commands[i].summary) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_find_a_noun_and_its_verb),
		cmocka_unit_test(arguments_take_the_output_wherever_it_stands),
		cmocka_unit_test(arguments_refuse_an_output_that_is_not_known),
		cmocka_unit_test(arguments_refuse_a_value_of_what_prints_none),
		cmocka_unit_test(arguments_leave_a_file_that_is_written_alone),
		cmocka_unit_test(arguments_leave_the_words_of_run_alone),
		cmocka_unit_test(arguments_after_two_dashes_are_words),
		cmocka_unit_test(arguments_count_words_and_refuse_options),
		cmocka_unit_test(every_command_has_a_usage_and_a_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
