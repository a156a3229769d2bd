#include "tests/contract/rpc_stage.h"

/* Say a number, without an answer. */
static void say(struct fixture *fixture, uint32_t number)
{
	const struct word word = {.text = BYTES_LITERAL("x"), .number = number};
	struct err err;

	assert_int_equal(
		rpc_tell(fixture->asker, ECHO, &word_schema, &word, -1, &err),
		0);
}

static void rpc_receives_nothing_while_it_rests(void **state)
{
	struct fixture *fixture = *state;

	rpc_rest(fixture->keeper, true);
	say(fixture, 1);
	settle(fixture);
	assert_int_equal(fixture->notes, 0);
	rpc_rest(fixture->keeper, false);
	settle(fixture);
	assert_int_equal(fixture->notes, 1);
}

static void rpc_brings_what_waits_when_it_is_told_to_receive(void **state)
{
	struct fixture *fixture = *state;

	rpc_rest(fixture->keeper, true);
	for (uint32_t i = 1; i <= 3; i++)
		say(fixture, i);
	settle(fixture);
	assert_false(rpc_receive(fixture->keeper));
	assert_int_equal(fixture->notes, 3);
	assert_int_equal(fixture->last_number, 3);
	say(fixture, 4);
	settle(fixture);
	assert_int_equal(fixture->notes, 3);
}

static void rpc_receives_a_bounded_number_at_once(void **state)
{
	struct fixture *fixture = *state;
	unsigned before;

	rpc_rest(fixture->keeper, true);
	for (uint32_t i = 0; i < 100; i++)
		say(fixture, i);
	settle(fixture);
	assert_true(rpc_receive(fixture->keeper));
	before = fixture->notes;
	assert_in_range(before, 1, 99);
	assert_false(rpc_receive(fixture->keeper));
	assert_int_equal(fixture->notes, 100);
}

static void rpc_sends_while_it_rests(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "hello", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->ticket_count, 1);
	rpc_rest(fixture->keeper, true);
	rpc_refuse(fixture->tickets[0], 7, "no");
	fixture->ticket_count = 0;
	settle(fixture);
	assert_int_equal(fixture->refused_code, 7);
}

static void rpc_sees_the_end_when_it_receives_again(void **state)
{
	struct fixture *fixture = *state;

	rpc_rest(fixture->keeper, true);
	say(fixture, 1);
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	settle(fixture);
	assert_int_equal(fixture->keeper_closed, 0);
	rpc_rest(fixture->keeper, false);
	settle(fixture);
	assert_int_equal(fixture->notes, 1);
	assert_int_equal(fixture->keeper_closed, 1);
}

/* ---- what a peer said before it died ---- */

/* The kernel tells of its end first. */
static void rpc_hears_who_died_with_our_words_unread(void **state)
{
	struct fixture *fixture = *state;

	rpc_rest(fixture->keeper, true);
	say(fixture, 1);
	assert_int_equal(
		tell(fixture, fixture->keeper, ECHO, bytes_str("unread"), -1),
		0);
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	rpc_rest(fixture->keeper, false);
	settle(fixture);
	assert_int_equal(fixture->notes, 1);
	assert_int_equal(fixture->keeper_closed, 1);
}

/* More than is received in one turn. */
static void rpc_hears_who_died_before_its_answer(void **state)
{
	struct fixture *fixture = *state;

	rpc_rest(fixture->keeper, true);
	assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
	for (uint32_t i = 0; i < 100; i++)
		say(fixture, i);
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	rpc_rest(fixture->keeper, false);
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->notes, 100);
	assert_int_equal(fixture->keeper_closed, 1);
}

static void rpc_hears_who_died_while_much_waited_for_it(void **state)
{
	static uint8_t text[50000];
	struct fixture *fixture = *state;

	memset(text, 't', sizeof(text));
	say(fixture, 1);
	while (rpc_queued(fixture->keeper) == 0)
		assert_int_equal(tell(fixture, fixture->keeper, ECHO,
				      bytes_from(text, sizeof(text)), -1),
				 0);
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	settle(fixture);
	assert_int_equal(fixture->notes, 1);
	assert_int_equal(fixture->keeper_closed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rpc_receives_nothing_while_it_rests),
		TEST(rpc_brings_what_waits_when_it_is_told_to_receive),
		TEST(rpc_receives_a_bounded_number_at_once),
		TEST(rpc_sends_while_it_rests),
		TEST(rpc_sees_the_end_when_it_receives_again),
		TEST(rpc_hears_who_died_with_our_words_unread),
		TEST(rpc_hears_who_died_before_its_answer),
		TEST(rpc_hears_who_died_while_much_waited_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
