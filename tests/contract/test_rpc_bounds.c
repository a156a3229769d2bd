#include "tests/contract/rpc_stage.h"

static void rpc_lets_no_more_calls_wait_than_its_bound(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < RPC_PENDING_MAX; i++)
		assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
	assert_int_equal(ask(fixture, ECHO, "x", NULL), -1);
	for (unsigned i = 0; i < 20; i++)
		settle(fixture);
	assert_int_equal(fixture->outcomes, RPC_PENDING_MAX);
	assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
}

static unsigned drain_bare(struct fixture *fixture, unsigned *in_order)
{
	static uint8_t message[WIRE_MESSAGE_MAX];
	unsigned count = 0;
	struct err err;

	for (;;) {
		ssize_t len;
		uint32_t number;
		int fd;

		settle(fixture);
		len = io_message_receive(fixture->bare, message,
					 sizeof(message), &fd, &err);
		if (len <= 0)
			return count;
		memcpy(&number, message + len - 4, 4);
		*in_order += number == count++;
		if (fd >= 0)
			io_sys_close(fd);
	}
}

static void rpc_queues_in_order_while_the_peer_does_not_read(void **state)
{
	static char text[50000];
	struct fixture *fixture = *state;
	unsigned sent = 0, in_order = 0, received;

	memset(text, 'a', sizeof(text));
	while (tell(fixture, fixture->keeper, ECHO,
		    bytes_from(text, sizeof(text)), -1) == 0) {
		fixture->last_number = ++sent;
		assert_true(rpc_queued(fixture->keeper) <= RPC_QUEUE_MAX);
		assert_true(sent < 1000);
	}
	assert_true(sent >= RPC_QUEUE_MAX / 51000);
	assert_true(rpc_queued(fixture->keeper) > RPC_QUEUE_MAX - 60000);
	received = drain_bare(fixture, &in_order);
	assert_int_equal(received, sent);
	assert_int_equal(in_order, sent);
	assert_int_equal(rpc_queued(fixture->keeper), 0);
	assert_int_equal(fixture->keeper_closed, 0);
}

static void rpc_queues_descriptors_of_its_own_up_to_a_bound(void **state)
{
	static char text[50000];
	struct fixture *fixture = *state;
	auto_fd int fd = memfd_create("t", MFD_CLOEXEC);
	unsigned sent = 0, in_order = 0;

	memset(text, 'a', sizeof(text));
	while (rpc_queued(fixture->keeper) == 0) {
		assert_int_equal(tell(fixture, fixture->keeper, ECHO,
				      bytes_from(text, sizeof(text)), -1),
				 0);
		fixture->last_number = ++sent;
	}
	while (tell(fixture, fixture->keeper, ECHO, bytes_str("x"), fd) == 0) {
		fixture->last_number = ++sent;
		assert_true(sent < 1000);
	}
	/* Without a descriptor there is still room. */
	assert_int_equal(
		tell(fixture, fixture->keeper, ECHO, bytes_str("x"), -1), 0);
	assert_int_equal(drain_bare(fixture, &in_order), sent + 1);
}

static void rpc_drops_a_peer_that_reads_no_answers(void **state)
{
	static char text[50000];
	struct fixture *fixture = *state;

	assert_int_equal(fixture->keeper_closed, 0);
	memset(text, 'a', sizeof(text));
	while (tell(fixture, fixture->keeper, ECHO,
		    bytes_from(text, sizeof(text)), -1) == 0)
		;
	while (tell(fixture, fixture->keeper, ECHO, bytes_str("x"), -1) == 0)
		;
	{
		/* type ECHO, kind request, id 1, text "", number 0 */
		static const uint8_t request[] = {ECHO, 0, 1, 0, 1, 0, 0, 0,
						  0,	0, 0, 0, 0, 0, 0, 0};
		struct err err;

		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(request, sizeof(request)),
					-1, &err),
			0);
	}
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->keeper_closed, 1);
	assert_non_null(strstr(fixture->why, "does not read"));
}

static void rpc_gives_others_a_turn_after_64_messages(void **state)
{
	static const uint8_t note[] = {ECHO, 0, 0, 0, 0, 0, 0, 0,
				       0,    0, 0, 0, 0, 0, 0, 0};
	struct fixture *fixture = *state;
	struct err err;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(io_message_send(fixture->bare,
						 bytes_from(note, sizeof(note)),
						 -1, &err),
				 0);
	assert_int_equal(io_loop_turn(fixture->loop, 0, &err), 0);
	assert_in_range(fixture->notes, 1, 64);
	settle(fixture);
	assert_int_equal(fixture->notes, 100);
}

static void rpc_bounds_the_rate_of_a_permit(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_NONE);
	assert_int_equal(fixture->outcomes, 3);
	pass(fixture, 700);
	assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 5);
	assert_int_equal(fixture->outcome, ERR_NONE);
	/* More than the seconds that this may take would let pass. */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
	assert_int_equal(fixture->keeper_closed, 1);
}

/* The keeper and its asker anew, on a channel that refuses with code. */
static void reopen_with_rate_code(struct fixture *fixture, uint16_t code)
{
	const struct rpc_config asker = {.owner = fixture,
					 .on_closed = on_asker_closed};
	const struct rpc_config keeper = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = fixture,
		.rate_code = code,
		.on_closed = on_keeper_closed,
	};
	struct err err;
	int fds[2];

	rpc_close(fixture->asker);
	rpc_close(fixture->keeper);
	assert_int_equal(io_message_pair(fds, &err), 0);
	fixture->asker = rpc_new(fixture->loop, fds[0], &asker, &err);
	fixture->keeper = rpc_new(fixture->loop, fds[1], &keeper, &err);
	assert_true(fixture->asker && fixture->keeper);
}

static void rpc_refuses_past_a_rate_that_has_a_code(void **state)
{
	struct fixture *fixture = *state;
	uint64_t began = io_loop_now_ms(fixture->loop);
	uint64_t took_ms;
	unsigned before;

	reopen_with_rate_code(fixture, 9);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	/* Three, and three more for each second that it took. */
	took_ms = io_loop_now_ms(fixture->loop) - began;
	before = fixture->requests;
	assert_in_range(before, 3, 3 + (took_ms + 1) * 3 / 1000);
	assert_int_equal(fixture->outcomes, 500);
	assert_int_equal(fixture->outcome, ERR_DENIED);
	assert_int_equal(fixture->refused_code, 9);
	assert_int_equal(fixture->keeper_closed, 0);
	pass(fixture, 700);
	assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_NONE);
	assert_int_equal(fixture->requests, before + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rpc_lets_no_more_calls_wait_than_its_bound),
		BARE(rpc_queues_in_order_while_the_peer_does_not_read),
		BARE(rpc_queues_descriptors_of_its_own_up_to_a_bound),
		BARE(rpc_drops_a_peer_that_reads_no_answers),
		BARE(rpc_gives_others_a_turn_after_64_messages),
		TEST(rpc_bounds_the_rate_of_a_permit),
		TEST(rpc_refuses_past_a_rate_that_has_a_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
