#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/commands/table.h"

#define ONE bytes_str("sb-one")
#define TWO bytes_str("sb-two")

static int set_up(void **state)
{
	*state = table_new();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	table_free(*state);
	return 0;
}

static struct command *add(struct table *table, struct bytes sandbox)
{
	struct err err;

	return table_add(table, sandbox, bytes_str("sleep 1"), true, &err);
}

static void a_command_is_known_in_its_own_sandbox_alone(void **state)
{
	struct command *command = add(*state, ONE);

	assert_non_null(command);
	assert_ptr_equal(table_find(*state, ONE, bytes_str(command->id)),
			 command);
	assert_null(table_find(*state, TWO, bytes_str(command->id)));
	assert_null(table_find(*state, ONE, bytes_str("cmd-unknown")));
	command_finish(command);
	assert_ptr_equal(table_find(*state, ONE, bytes_str(command->id)),
			 command);
	assert_false(command->is_running);
}

static void so_many_run_in_a_sandbox_and_no_more(void **state)
{
	struct command *last = NULL;
	struct err err;

	for (int i = 0; i < COMMANDS_RUNNING_MAX; i++) {
		last = add(*state, ONE);
		assert_non_null(last);
	}
	assert_null(table_add(*state, ONE, bytes_str("x"), false, &err));
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_non_null(add(*state, TWO));
	command_finish(last);
	assert_non_null(add(*state, ONE));
}

static void of_those_that_ended_the_oldest_go(void **state)
{
	char first[COMMAND_ID_MAX + 1], second[COMMAND_ID_MAX + 1];

	for (int i = 0; i < COMMANDS_ENDED_MAX + 1; i++) {
		struct command *command = add(*state, ONE);

		assert_non_null(command);
		if (i < 2)
			memcpy(i == 0 ? first : second, command->id,
			       sizeof(first));
		command_finish(command);
	}
	assert_non_null(add(*state, ONE));
	assert_null(table_find(*state, ONE, bytes_str(first)));
	assert_null(table_find(*state, ONE, bytes_str(second)));
}

static void those_of_other_sandboxes_that_ended_make_room(void **state)
{
	struct command *running = add(*state, ONE);
	char first[COMMAND_ID_MAX + 1], name[32];

	assert_non_null(running);
	for (int i = 1; i < COMMANDS_MAX; i++) {
		struct command *command;

		(void)snprintf(name, sizeof(name), "box-%d",
			       i / COMMANDS_ENDED_MAX);
		command = add(*state, bytes_str(name));
		assert_non_null(command);
		if (i == 1)
			memcpy(first, command->id, sizeof(first));
		command_finish(command);
	}
	assert_non_null(
		table_find(*state, bytes_str("box-0"), bytes_str(first)));
	assert_non_null(add(*state, TWO));
	assert_null(table_find(*state, bytes_str("box-0"), bytes_str(first)));
	assert_ptr_equal(table_find(*state, ONE, bytes_str(running->id)),
			 running);
}

static void a_long_text_is_cut_between_two_characters(void **state)
{
	char text[COMMAND_TEXT_MAX + 8];
	const struct command *command;
	struct err err;

	memset(text, 'x', sizeof(text));
	memcpy(text + COMMAND_TEXT_MAX - 1, "\xc3\xa9", 2);
	command = table_add(*state, ONE, bytes_from(text, sizeof(text)), false,
			    &err);
	assert_non_null(command);
	assert_int_equal(strlen(command->text), COMMAND_TEXT_MAX - 1);
	memset(text, 'x', sizeof(text));
	command = table_add(*state, ONE, bytes_from(text, sizeof(text)), false,
			    &err);
	assert_non_null(command);
	assert_int_equal(strlen(command->text), COMMAND_TEXT_MAX);
}

static void output_is_read_from_a_cursor_on(void **state)
{
	static const struct {
		uint64_t cursor, begin;
		const char *text;
	} cases[] = {
		{0, 0, "one\ntwo\n"},
		{4, 4, "two\n"},
		{8, 8, ""},
		{99, 8, ""},
	};
	struct command *command = add(*state, ONE);

	assert_non_null(command);
	command_write(command, bytes_str("one\n"));
	command_write(command, bytes_str("two\n"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t cursor = cases[i].cursor;
		struct bytes text = command_read(command, &cursor);

		assert_true(bytes_is(text, cases[i].text));
		assert_int_equal(cursor, cases[i].begin);
	}
}

static void of_much_output_the_newest_is_kept(void **state)
{
	auto_free uint8_t *block = calloc(1, COMMAND_OUTPUT_MAX + 3);
	struct command *command = add(*state, ONE);
	uint64_t cursor = 0;

	assert_non_null(block);
	assert_non_null(command);
	command_write(command, bytes_from(block, COMMAND_OUTPUT_MAX - 1));
	command_write(command, bytes_str("abc"));
	assert_int_equal(command_read(command, &cursor).len,
			 COMMAND_OUTPUT_MAX);
	assert_int_equal(cursor, 2);
	command_write(command, bytes_from(block, COMMAND_OUTPUT_MAX + 3));
	cursor = 0;
	assert_int_equal(command_read(command, &cursor).len,
			 COMMAND_OUTPUT_MAX);
	assert_int_equal(cursor, 2 + 3 + COMMAND_OUTPUT_MAX);
}

static void all_outputs_together_are_bounded(void **state)
{
	const int many = COMMAND_OUTPUTS_MAX / COMMAND_OUTPUT_MAX;
	auto_free uint8_t *block = calloc(1, COMMAND_OUTPUT_MAX);
	struct command *running = add(*state, ONE);
	struct command *ended = add(*state, ONE);
	struct command *last = NULL;
	uint64_t cursor = 0;

	assert_non_null(block);
	command_write(running, bytes_from(block, COMMAND_OUTPUT_MAX));
	command_write(ended, bytes_from(block, COMMAND_OUTPUT_MAX));
	command_finish(ended);
	for (int i = 0; i < many - 1; i++) {
		last = add(*state, TWO);
		command_write(last, bytes_from(block, COMMAND_OUTPUT_MAX));
	}
	assert_int_equal(command_read(ended, &cursor).len, 0);
	cursor = 0;
	assert_int_equal(command_read(running, &cursor).len,
			 COMMAND_OUTPUT_MAX);
	cursor = 0;
	assert_int_equal(command_read(last, &cursor).len, COMMAND_OUTPUT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_command_is_known_in_its_own_sandbox_alone, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			so_many_run_in_a_sandbox_and_no_more, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			of_those_that_ended_the_oldest_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			those_of_other_sandboxes_that_ended_make_room, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_long_text_is_cut_between_two_characters, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(output_is_read_from_a_cursor_on,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			of_much_output_the_newest_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			all_outputs_together_are_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
