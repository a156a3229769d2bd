/*
 * The stage of the channel tests: an asker and a keeper on one loop, or a
 * bare socket that plays either of them. Runs on both backends of io.
 */
#ifndef TESTS_CONTRACT_RPC_STAGE_H
#define TESTS_CONTRACT_RPC_STAGE_H

#include "tests/contract/rpc_parties.h"

static inline void open_keeper(struct fixture *fixture, int socket)
{
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = fixture,
		.on_closed = on_keeper_closed,
	};
	struct err err;

	fixture->keeper = rpc_new(fixture->loop, socket, &config, &err);
	assert_non_null(fixture->keeper);
}

static inline struct fixture *new_fixture(int fds[2])
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct err err;

	assert_non_null(fixture);
	fixture->fd = fixture->bare = -1;
	fixture->timeout_ms = 60000;
	fixture->loop = io_loop_new(&err);
	assert_non_null(fixture->loop);
	assert_int_equal(io_message_pair(fds, &err), 0);
	open_keeper(fixture, fds[1]);
	return fixture;
}

static inline int set_up(void **state)
{
	struct err err;
	int fds[2];
	struct fixture *fixture = new_fixture(fds);
	const struct rpc_config config = {
		.owner = fixture,
		.on_closed = on_asker_closed,
	};

	fixture->asker = rpc_new(fixture->loop, fds[0], &config, &err);
	*state = fixture;
	return fixture->asker ? 0 : -1;
}

static inline int set_up_bare(void **state)
{
	int fds[2];
	struct fixture *fixture = new_fixture(fds);

	fixture->bare = fds[0];
	*state = fixture;
	return 0;
}

/* Turns until some time after nothing happens any more. */
static inline void settle(struct fixture *fixture)
{
	struct err err;

	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(io_loop_turn(fixture->loop, 0, &err), 0);
}

static inline void pass(struct fixture *fixture, unsigned ms)
{
#ifdef SP_IO_FAKE
	fake_advance(fixture->loop, ms);
#else
	uint64_t end = clock_monotonic_ms() + ms;
	struct err err;

	while (clock_monotonic_ms() < end)
		assert_int_equal(io_loop_turn(fixture->loop, 5, &err), 0);
#endif
	settle(fixture);
}

/* As long as it takes until there are so many outcomes, or more. */
static inline void await_outcomes(struct fixture *fixture, unsigned count)
{
	uint64_t end = io_loop_now_ms(fixture->loop) + 30000;

	while (fixture->outcomes < count && io_loop_now_ms(fixture->loop) < end)
		pass(fixture, 1);
	assert_true(fixture->outcomes >= count);
}

/* The machine may be busy with others. */
#ifdef SP_IO_FAKE
#define LATE_MS 0
#else
#define LATE_MS 30000
#endif

/* That long after began_ms, and no sooner, came the last outcome. */
static inline void assert_outcome_after(const struct fixture *fixture,
					uint64_t began_ms, unsigned ms)
{
	assert_in_range(fixture->outcome_ms - began_ms, ms, ms + LATE_MS);
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->asker)
		rpc_close(fixture->asker);
	if (fixture->keeper)
		rpc_close(fixture->keeper);
	if (fixture->bare >= 0)
		io_sys_close(fixture->bare);
	for (size_t i = 0; i < fixture->ticket_count; i++)
		rpc_refuse(fixture->tickets[i], 1, "over");
	settle(fixture);
	io_loop_free(fixture->loop);
#ifdef SP_IO_FAKE
	fake_reset_all();
#endif
	free(fixture);
	return 0;
}

static inline int ask_with(struct fixture *fixture, uint16_t type,
			   const char *text, int fd, uint32_t *id)
{
	const struct word word = {bytes_str(text), 42};
	const struct rpc_call call = {
		.type = type,
		.schema = &word_schema,
		.message = &word,
		.fd = fd,
		.reply_schema = &word_schema,
		.timeout_ms = fixture->timeout_ms,
		.on_outcome = on_outcome,
		.owner = fixture,
	};
	struct err err;

	return rpc_ask(fixture->asker, &call, id, &err);
}

static inline int ask(struct fixture *fixture, uint16_t type, const char *text,
		      uint32_t *id)
{
	return ask_with(fixture, type, text, -1, id);
}

static inline int tell(struct fixture *fixture, struct rpc *rpc, uint16_t type,
		       struct bytes text, int fd)
{
	const struct word word = {text, fixture->last_number};
	struct err err;

	return rpc_tell(rpc, type, &word_schema, &word, fd, &err);
}

static inline void answer_kept(struct fixture *fixture, const char *text)
{
	const struct word word = {.text = bytes_str(text)};

	assert_true(fixture->ticket_count > 0);
	rpc_reply(fixture->tickets[--fixture->ticket_count], &word_schema,
		  &word, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define BARE(name) cmocka_unit_test_setup_teardown(name, set_up_bare, tear_down)

#endif
