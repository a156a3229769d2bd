#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/commands/kept.h"

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct kept_list));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct kept_list *list = *state;

	kept_drop_all(list);
	assert_int_equal(list->running, 0);
	assert_int_equal(list->ended, 0);
	assert_int_equal(list->memory, 0);
	free(list);
	return 0;
}

static struct kept *add(struct kept_list *list)
{
	struct err err;
	struct kept *kept = kept_add(list, bytes_str("sleep 1"), &err);

	assert_non_null(kept);
	return kept;
}

/* What is kept from *cursor on. */
static struct bytes read_from(const struct kept *kept, uint64_t *cursor,
			      struct buf *out)
{
	buf_clear(out);
	assert_int_equal(kept_read(kept, cursor, out), 0);
	return buf_view(out);
}

static void one_is_known_by_its_id_until_it_is_dropped(void **state)
{
	struct kept *kept = add(*state);
	char id[BACKGROUND_ID_MAX + 1];

	memcpy(id, kept->id, sizeof(id));
	assert_ptr_equal(kept_find(*state, bytes_str(id)), kept);
	assert_null(kept_find(*state, bytes_str("cmd-unknown")));
	assert_null(kept_find(*state, (struct bytes){0}));
	kept_finish(kept, 143, 15, "timeout");
	kept = kept_find(*state, bytes_str(id));
	assert_non_null(kept);
	assert_false(kept->is_running);
	assert_int_equal(kept->exit_code, 143);
	assert_int_equal(kept->signal, 15);
	assert_string_equal(kept->reason, "timeout");
	assert_true(kept->finished_ms >= kept->started_ms);
	kept_drop(kept);
	assert_null(kept_find(*state, bytes_str(id)));
}

static void so_many_run_and_no_more(void **state)
{
	struct kept *last = NULL;
	struct err err;

	for (int i = 0; i < KEPT_RUNNING_MAX; i++)
		last = add(*state);
	assert_null(kept_add(*state, bytes_str("x"), &err));
	assert_int_equal(err.code, ERR_TOO_LARGE);
	kept_finish(last, 0, 0, "");
	add(*state);
}

static void of_those_that_ended_the_oldest_go(void **state)
{
	struct kept *running = add(*state);
	char first[BACKGROUND_ID_MAX + 1], second[BACKGROUND_ID_MAX + 1];

	for (int i = 0; i < KEPT_ENDED_MAX + 1; i++) {
		struct kept *kept = add(*state);

		if (i < 2)
			memcpy(i == 0 ? first : second, kept->id,
			       sizeof(first));
		kept_finish(kept, 0, 0, "");
	}
	assert_null(kept_find(*state, bytes_str(first)));
	assert_non_null(kept_find(*state, bytes_str(second)));
	assert_ptr_equal(kept_find(*state, bytes_str(running->id)), running);
}

static void a_long_text_is_cut_between_two_characters(void **state)
{
	char text[BACKGROUND_TEXT_MAX + 8];
	const struct kept *kept;
	struct err err;

	memset(text, 'x', sizeof(text));
	memcpy(text + BACKGROUND_TEXT_MAX - 1, "\xc3\xa9", 2);
	kept = kept_add(*state, bytes_from(text, sizeof(text)), &err);
	assert_non_null(kept);
	assert_int_equal(strlen(kept->text), BACKGROUND_TEXT_MAX - 1);
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
	auto_type(buf_release) struct buf out;
	struct kept *kept = add(*state);
	uint64_t cursor = 5;

	buf_init(&out, KEPT_OUTPUT_MAX);
	assert_int_equal(read_from(kept, &cursor, &out).len, 0);
	assert_int_equal(cursor, 0);
	kept_write(kept, bytes_str("one\n"));
	kept_write(kept, bytes_str(""));
	kept_write(kept, bytes_str("two\n"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cursor = cases[i].cursor;
		assert_true(bytes_is(read_from(kept, &cursor, &out),
				     cases[i].text));
		assert_int_equal(cursor, cases[i].begin);
	}
}

/* Each byte says where it stands. */
static uint8_t byte_at(uint64_t cursor)
{
	return (uint8_t)(cursor % 251);
}

static void of_much_output_the_newest_is_kept_in_order(void **state)
{
	static const size_t steps[] = {1,     4095, 1,	     100000,
				       70000, 3,    1000000, 7};
	auto_free uint8_t *block = malloc(KEPT_OUTPUT_MAX + 3);
	auto_type(buf_release) struct buf out;
	struct kept *kept = add(*state);
	uint64_t end = 0;

	assert_non_null(block);
	buf_init(&out, KEPT_OUTPUT_MAX);
	for (size_t i = 0; i < 4 * ARRAY_SIZE(steps); i++) {
		size_t len = i == 20 ? KEPT_OUTPUT_MAX + 3
				     : steps[i % ARRAY_SIZE(steps)];
		uint64_t cursor = 0;
		struct bytes kept_now;

		for (size_t j = 0; j < len; j++)
			block[j] = byte_at(end + j);
		kept_write(kept, bytes_from(block, len));
		end += len;
		kept_now = read_from(kept, &cursor, &out);
		assert_int_equal(kept_now.len,
				 end < KEPT_OUTPUT_MAX ? end : KEPT_OUTPUT_MAX);
		assert_int_equal(cursor + kept_now.len, end);
		for (size_t j = 0; j < kept_now.len; j++)
			if (kept_now.data[j] != byte_at(cursor + j))
				fail_msg("byte %zu of step %zu", j, i);
	}
}

static void all_outputs_together_are_bounded(void **state)
{
	const int many = KEPT_OUTPUTS_MAX / KEPT_OUTPUT_MAX;
	auto_free uint8_t *block = calloc(1, KEPT_OUTPUT_MAX);
	auto_type(buf_release) struct buf out;
	struct kept_list *list = *state;
	struct kept *running = add(list), *ended = add(list), *last = NULL;
	uint64_t cursor = 0;

	assert_non_null(block);
	buf_init(&out, KEPT_OUTPUT_MAX);
	kept_write(running, bytes_from(block, KEPT_OUTPUT_MAX));
	kept_write(ended, bytes_from(block, KEPT_OUTPUT_MAX));
	kept_finish(ended, 0, 0, "");
	for (int i = 0; i < many - 1; i++) {
		last = add(list);
		kept_write(last, bytes_from(block, KEPT_OUTPUT_MAX));
		assert_true(list->memory <= KEPT_OUTPUTS_MAX);
	}
	assert_int_equal(read_from(ended, &cursor, &out).len, 0);
	assert_int_equal(cursor, KEPT_OUTPUT_MAX);
	cursor = 0;
	assert_int_equal(read_from(running, &cursor, &out).len,
			 KEPT_OUTPUT_MAX);
	/* What goes on after that has its own cursor still. */
	kept_write(add(list), bytes_from(block, KEPT_OUTPUT_MAX));
	kept_write(running, bytes_str("abc"));
	cursor = 0;
	assert_true(bytes_is(read_from(running, &cursor, &out), "abc"));
	assert_int_equal(cursor, KEPT_OUTPUT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			one_is_known_by_its_id_until_it_is_dropped, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(so_many_run_and_no_more, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			of_those_that_ended_the_oldest_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_long_text_is_cut_between_two_characters, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(output_is_read_from_a_cursor_on,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			of_much_output_the_newest_is_kept_in_order, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			all_outputs_together_are_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
