#include "tests/contract/rpc_stage.h"

static void rpc_brings_the_reply_of_a_request(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, ECHO, "hello", NULL), 0);
	assert_int_equal(fixture->outcomes, 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
	assert_int_equal(fixture->outcome, ERR_NONE);
	assert_string_equal(fixture->text, "hello");
	assert_int_equal(fixture->last_number, 42);
}

static void rpc_keeps_many_calls_apart(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(ask(fixture, ECHO, "hello", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->requests, 1000);
	assert_int_equal(fixture->outcomes, 1000);
}

static void rpc_tells_the_reason_of_a_refusal(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, REFUSE, "not yours", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_DENIED);
	assert_int_equal(fixture->refused_code, 7);
	assert_string_equal(fixture->text, "not yours");
}

static void rpc_cuts_and_cleans_the_detail_of_a_refusal(void **state)
{
	struct fixture *fixture = *state;
	char text[700];

	/* 512 bytes end inside of a two-byte character here. */
	(void)memset(text, 'a', sizeof(text));
	memcpy(text + 511, "\xc3\xa4", 2);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(ask(fixture, REFUSE, text, NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_DENIED);
	assert_int_equal(strlen(fixture->text), 512);
	assert_int_equal(fixture->text[511], '?');
}

static void rpc_refuses_when_its_reply_cannot_be_encoded(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, BREAK, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_DENIED);
	assert_int_equal(fixture->refused_code, 0);
	assert_non_null(strstr(fixture->text, "not text"));
	assert_int_equal(ask(fixture, ECHO, "still here", NULL), 0);
	settle(fixture);
	assert_string_equal(fixture->text, "still here");
}

static void rpc_sends_no_request_that_cannot_be_encoded(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, ECHO, "\xff", NULL), -1);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 0);
	assert_int_equal(fixture->requests, 0);
	assert_int_equal(ask(fixture, ECHO, "fine", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
}

static void rpc_carries_a_descriptor_both_ways(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	auto_fd int fd = wire_memfd_seal("t", bytes_str("inside"), &err);
	struct bytes view;

	assert_int_equal(ask_with(fixture, TAKE_FD, "x", fd, NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_NONE);
	assert_true(fixture->fd >= 0);
	assert_int_equal(wire_memfd_map(fixture->fd, 100, &view, &err), 0);
	assert_true(bytes_is(view, "inside"));
	wire_memfd_unmap(view);
	(void)close(fixture->fd);
	assert_true(fcntl(fd, F_GETFD) >= 0);
}

static void rpc_drops_the_answer_of_a_notification(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(
		tell(fixture, fixture->asker, ECHO, bytes_str("x"), -1), 0);
	settle(fixture);
	assert_int_equal(fixture->notes, 1);
	assert_int_equal(fixture->requests, 0);
	assert_int_equal(fixture->outcomes, 0);
	assert_int_equal(fixture->asker_closed, 0);
}

static void rpc_may_be_answered_in_a_later_turn(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 0);
	rpc_ticket_hold(fixture->tickets[0]);
	answer_kept(fixture, "second");
	settle(fixture);
	assert_string_equal(fixture->text, "second");
	answer_kept(fixture, "first");
	settle(fixture);
	assert_string_equal(fixture->text, "first");
	assert_int_equal(fixture->outcomes, 2);
}

static void rpc_may_be_answered_when_the_channel_is_gone(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	settle(fixture);
	assert_true(rpc_ticket_is_heard(fixture->tickets[0]));
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	settle(fixture);
	assert_false(rpc_ticket_is_heard(fixture->tickets[0]));
	assert_int_equal(fixture->keeper_closed, 1);
	assert_int_equal(fixture->outcomes, 2);
	answer_kept(fixture, "to nobody");
	answer_kept(fixture, "to nobody");
	settle(fixture);
	assert_int_equal(fixture->outcomes, 2);
}

static void rpc_may_be_asked_again_from_an_outcome(void **state)
{
	struct fixture *fixture = *state;

	fixture->asks_again = true;
	assert_int_equal(ask(fixture, ECHO, "first", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 5);
	assert_string_equal(fixture->text, "again");
}

/* ---- time ---- */

static void rpc_ends_a_call_at_its_deadline(void **state)
{
	struct fixture *fixture = *state;
	uint64_t began = io_loop_now_ms(fixture->loop);

	fixture->timeout_ms = 200;
	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	await_outcomes(fixture, 1);
	assert_outcome_after(fixture, began, 200);
	assert_int_equal(fixture->outcome, ERR_TIMEOUT);
	fixture->timeout_ms = 60000;
	/* The reply still comes, and is no fault. */
	answer_kept(fixture, "late");
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
	assert_int_equal(ask(fixture, ECHO, "next", NULL), 0);
	settle(fixture);
	assert_string_equal(fixture->text, "next");
}

static void rpc_ends_each_call_at_its_own_deadline(void **state)
{
	struct fixture *fixture = *state;

	uint64_t first = io_loop_now_ms(fixture->loop);
	uint64_t second;

	fixture->timeout_ms = 200;
	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	pass(fixture, 120);
	second = io_loop_now_ms(fixture->loop);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	fixture->timeout_ms = 60000;
	assert_int_equal(ask(fixture, ECHO, "z", NULL), 0);
	settle(fixture);
	await_outcomes(fixture, 2);
	assert_outcome_after(fixture, first, 200);
	await_outcomes(fixture, 3);
	assert_outcome_after(fixture, second, 200);
	assert_int_equal(fixture->outcomes, 3);
	assert_int_equal(fixture->outcome, ERR_TIMEOUT);
}

static void rpc_times_out_more_calls_than_one_turn_takes(void **state)
{
	struct fixture *fixture = *state;

	rpc_close(fixture->keeper);
	fixture->keeper = NULL;
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	settle(fixture);
	/* A peer that reads nothing. */
	{
		const struct rpc_config config = {.owner = fixture,
						  .on_closed = on_asker_closed};
		struct err err;
		int fds[2];

		assert_int_equal(io_message_pair(fds, &err), 0);
		fixture->asker = rpc_new(fixture->loop, fds[0], &config, &err);
		fixture->bare = fds[1];
	}
	fixture->timeout_ms = 200;
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
	await_outcomes(fixture, 500);
	assert_int_equal(fixture->outcomes, 500);
	assert_int_equal(fixture->outcome, ERR_TIMEOUT);
}

static void rpc_cancel_drops_the_reply_and_its_descriptor(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	auto_fd int fd = wire_memfd_seal("t", bytes_str("inside"), &err);
	uint32_t id;

	fixture->timeout_ms = 200;
	assert_int_equal(ask_with(fixture, TAKE_FD, "x", fd, &id), 0);
	rpc_cancel(fixture->asker, id);
	rpc_cancel(fixture->asker, id + 1000);
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->outcomes, 0);
	assert_int_equal(fixture->asker_closed, 0);
	pass(fixture, 250);
	assert_int_equal(fixture->outcomes, 0);
}

/* ---- ends ---- */

static void rpc_close_ends_what_waits_and_calls_no_on_closed(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	fixture->asks_again = true;
	rpc_close(fixture->asker);
	assert_int_equal(fixture->outcomes, 2);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
	settle(fixture);
	assert_int_equal(fixture->asker_closed, 0);
	assert_int_equal(fixture->keeper_closed, 1);
	assert_string_equal(fixture->why, "the peer closed the channel");
	fixture->asker = NULL;
}

static void rpc_cancel_holds_while_the_channel_ends(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first, second;

	/* Whichever comes first takes the other away. */
	assert_int_equal(ask(fixture, LATER, "x", &first), 0);
	fixture->cancels = first;
	rpc_cancel(fixture->asker, first);
	assert_int_equal(ask(fixture, LATER, "y", &first), 0);
	assert_int_equal(ask(fixture, LATER, "z", &second), 0);
	fixture->cancels = first;
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	assert_in_range(fixture->outcomes, 1, 2);
}

static void rpc_ends_its_calls_before_it_says_closed(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	settle(fixture);
	rpc_close(fixture->keeper);
	fixture->keeper = NULL;
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
	assert_int_equal(fixture->asker_closed, 1);
}

static void rpc_may_be_closed_by_its_handler(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LEAVE, "x", NULL), 0);
	assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->keeper_closed, 0);
	assert_int_equal(fixture->asker_closed, 1);
	assert_int_equal(fixture->outcomes, 2);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rpc_brings_the_reply_of_a_request),
		TEST(rpc_keeps_many_calls_apart),
		TEST(rpc_tells_the_reason_of_a_refusal),
		TEST(rpc_cuts_and_cleans_the_detail_of_a_refusal),
		TEST(rpc_refuses_when_its_reply_cannot_be_encoded),
		TEST(rpc_sends_no_request_that_cannot_be_encoded),
		TEST(rpc_carries_a_descriptor_both_ways),
		TEST(rpc_drops_the_answer_of_a_notification),
		TEST(rpc_may_be_answered_in_a_later_turn),
		TEST(rpc_may_be_answered_when_the_channel_is_gone),
		TEST(rpc_may_be_asked_again_from_an_outcome),
		TEST(rpc_ends_a_call_at_its_deadline),
		TEST(rpc_ends_each_call_at_its_own_deadline),
		TEST(rpc_times_out_more_calls_than_one_turn_takes),
		TEST(rpc_cancel_drops_the_reply_and_its_descriptor),
		TEST(rpc_close_ends_what_waits_and_calls_no_on_closed),
		TEST(rpc_cancel_holds_while_the_channel_ends),
		TEST(rpc_ends_its_calls_before_it_says_closed),
		TEST(rpc_may_be_closed_by_its_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
