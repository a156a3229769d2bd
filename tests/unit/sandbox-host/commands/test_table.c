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

	return table_add(table, sandbox, bytes_str("sleep 1"), &err);
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
	assert_null(table_add(*state, ONE, bytes_str("x"), &err));
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
	command = table_add(*state, ONE, bytes_from(text, sizeof(text)), &err);
	assert_non_null(command);
	assert_int_equal(strlen(command->text), COMMAND_TEXT_MAX - 1);
	memset(text, 'x', sizeof(text));
	command = table_add(*state, ONE, bytes_from(text, sizeof(text)), &err);
	assert_non_null(command);
	assert_int_equal(strlen(command->text), COMMAND_TEXT_MAX);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
