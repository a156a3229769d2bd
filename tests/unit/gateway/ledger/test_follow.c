#include "tests/unit/gateway/ledger/fixture.h"

#include "gateway/ledger/follow.h"

static struct io_loop *loop;
static struct follow follow;

/* A channel, and what its far end heard. */
struct listener {
	struct rpc *near, *far;
	size_t rows;
	uint64_t last;
};

static void on_rows(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	const struct msg_ledger_rows *rows = message;
	struct listener *listener = owner;

	(void)ticket;
	(void)fd;
	for (size_t i = 0; i < rows->rows_count; i++) {
		assert_true(rows->rows[i].sequence > listener->last);
		listener->last = rows->rows[i].sequence;
	}
	listener->rows += rows->rows_count;
}

static void join(struct listener *listener)
{
	static const struct rpc_permit permits[] = {
		{MSG_LEDGER_ROWS, &msg_ledger_rows_schema, on_rows, false, 0},
	};
	const struct rpc_config none = {0};
	const struct rpc_config hears = {
		.permits = permits,
		.permit_count = 1,
		.owner = listener,
	};
	struct err err;
	int fds[2];

	*listener = (struct listener){0};
	assert_int_equal(io_message_pair(fds, &err), 0);
	listener->near = rpc_new(loop, fds[0], &none, &err);
	listener->far = rpc_new(loop, fds[1], &hears, &err);
	assert_non_null(listener->near);
	assert_non_null(listener->far);
}

static void turns(unsigned ms)
{
	uint64_t end = io_loop_now_ms(loop) + ms;
	struct err err;

	do
		assert_int_equal(io_loop_turn(loop, 5, &err), 0);
	while (io_loop_now_ms(loop) < end);
}

/* Turns until it has so many rows, and some more in which it gets no more. */
static void wait_for(const struct listener *listener, size_t rows)
{
	uint64_t end = io_loop_now_ms(loop) + 30000;

	while (listener->rows < rows && io_loop_now_ms(loop) < end)
		turns(1);
	turns(3 * FOLLOW_EVERY_MS);
	assert_int_equal(listener->rows, rows);
}

static void leave(struct listener *listener)
{
	follow_remove(&follow, listener->near);
	rpc_close(listener->near);
	rpc_close(listener->far);
	turns(1);
}

static int setup(void **state)
{
	struct fixture *fixture;

	assert_int_equal(fixture_setup(state), 0);
	fixture = *state;
	loop = io_loop_new(&fixture->err);
	assert_non_null(loop);
	return follow_init(&follow, loop, &fixture->store, &fixture->err);
}

static int teardown(void **state)
{
	follow_release(&follow);
	io_loop_free(loop);
	return fixture_teardown(state);
}

static void follow_tells_new_rows_that_match(void **state)
{
	const struct msg_ledger_query all = {.newest = true};
	const struct msg_ledger_query denied = {.newest = true,
						.denied_only = true};
	struct fixture *fixture = *state;
	struct listener one, two;

	add_rows(fixture, 8);
	join(&one);
	join(&two);
	assert_int_equal(follow_add(&follow, one.near, &all, &fixture->err), 0);
	assert_int_equal(follow_add(&follow, two.near, &denied, &fixture->err),
			 0);
	turns(3 * FOLLOW_EVERY_MS);
	assert_int_equal(one.rows, 0);
	add_rows(fixture, 8);
	follow_wake(&follow);
	wait_for(&one, 8);
	wait_for(&two, 2);
	assert_int_equal(one.last, 16);
	leave(&one);
	leave(&two);
}

static void follow_begins_where_it_is_told(void **state)
{
	const struct msg_ledger_query after = {.after = 100};
	struct fixture *fixture = *state;
	struct listener one;

	add_rows(fixture, 1000);
	join(&one);
	assert_int_equal(follow_add(&follow, one.near, &after, &fixture->err),
			 0);
	wait_for(&one, 900);
	assert_int_equal(one.last, 1000);
	leave(&one);
}

static void follow_tells_nothing_after_its_end(void **state)
{
	const struct msg_ledger_query all = {.newest = true};
	struct fixture *fixture = *state;
	struct listener one;

	join(&one);
	assert_int_equal(follow_add(&follow, one.near, &all, &fixture->err), 0);
	follow_remove(&follow, one.near);
	add_rows(fixture, 8);
	follow_wake(&follow);
	turns(3 * FOLLOW_EVERY_MS);
	assert_int_equal(one.rows, 0);
	leave(&one);
}

static void follow_replaces_and_bounds_its_followers(void **state)
{
	const struct msg_ledger_query all = {.newest = true};
	const struct msg_ledger_query odd = {.newest = true,
					     .kind = BYTES_LITERAL("nonsense")};
	struct fixture *fixture = *state;
	struct listener many[FOLLOWERS_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		join(&many[i]);
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		assert_int_equal(
			follow_add(&follow, many[i].near, &all, &fixture->err),
			0);
	assert_int_equal(follow_add(&follow, many[0].near, &all, &fixture->err),
			 0);
	assert_int_equal(follow_add(&follow, many[0].near, &odd, &fixture->err),
			 -1);
	assert_int_equal(follow_add(&follow, many[FOLLOWERS_MAX].near, &all,
				    &fixture->err),
			 -1);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		leave(&many[i]);
}

#define FOLLOW_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLLOW_TEST(follow_tells_new_rows_that_match),
		FOLLOW_TEST(follow_begins_where_it_is_told),
		FOLLOW_TEST(follow_tells_nothing_after_its_end),
		FOLLOW_TEST(follow_replaces_and_bounds_its_followers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
