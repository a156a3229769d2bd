#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "gateway/ledger/rest.h"

/* An edge's channel: what it tells is counted, and noted. */
struct edge {
	struct keeper_peer peer;
	struct rpc *far;
	unsigned heard;
	bool is_dropped; /* by its first message */
};

static struct io_loop *loop;
static struct rest rest;
static struct edge edges[2];
static unsigned collected;

static void on_note(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	struct edge *edge = owner;

	(void)ticket;
	(void)message;
	(void)fd;
	edge->heard++;
	if (edge->is_dropped) {
		rpc_close(edge->peer.rpc);
		rest_forget(&rest, &edge->peer);
		return;
	}
	rest_note(&rest, &edge->peer, 1);
}

static void on_collected(void *owner)
{
	assert_ptr_equal(owner, &rest);
	collected++;
}

static void edge_open(struct edge *edge)
{
	static const struct rpc_permit permits[] = {
		{1, &wire_empty_schema, on_note, false, 0},
	};
	const struct rpc_config hears = {
		.permits = permits, .permit_count = 1, .owner = edge};
	const struct rpc_config none = {0};
	struct err err;
	int fds[2];

	*edge = (struct edge){0};
	assert_int_equal(io_message_pair(fds, &err), 0);
	edge->peer.rpc = rpc_new(loop, fds[0], &hears, &err);
	edge->far = rpc_new(loop, fds[1], &none, &err);
	assert_non_null(edge->peer.rpc);
	assert_non_null(edge->far);
}

static void turns(void)
{
	struct err err;

	for (int i = 0; i < 20; i++)
		assert_int_equal(io_loop_turn(loop, 0, &err), 0);
}

static void tell(struct edge *edge, unsigned count)
{
	const struct wire_empty empty = {0};
	struct err err;

	while (count-- > 0)
		assert_int_equal(rpc_tell(edge->far, 1, &wire_empty_schema,
					  &empty, -1, &err),
				 0);
}

static int setup(void **state)
{
	struct err err;

	(void)state;
	loop = io_loop_new(&err);
	assert_non_null(loop);
	collected = 0;
	assert_int_equal(rest_init(&rest, loop, on_collected, &rest), 0);
	edge_open(&edges[0]);
	edge_open(&edges[1]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(edges); i++) {
		if (!edges[i].is_dropped) {
			rest_forget(&rest, &edges[i].peer);
			rpc_close(edges[i].peer.rpc);
		}
		rpc_close(edges[i].far);
	}
	turns();
	io_timer_free(rest.timer);
	io_loop_free(loop);
	return 0;
}

/* Make the edge rest. */
static void tire(struct edge *edge)
{
	tell(edge, REST_NOTES_MIN);
	turns();
	assert_int_equal(edge->heard, REST_NOTES_MIN);
}

static void rest_hears_who_tells_little_at_once(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 3 * REST_NOTES_MIN; i++) {
		tell(&edges[0], 1);
		turns();
		assert_int_equal(edges[0].heard, i);
		fake_advance(loop, REST_MS);
		turns();
	}
	assert_int_equal(collected, 0);
}

static void rest_collects_from_who_tells_much_now_and_then(void **state)
{
	(void)state;
	tire(&edges[0]);
	tell(&edges[0], 200);
	turns();
	assert_int_equal(edges[0].heard, REST_NOTES_MIN);
	fake_advance(loop, REST_MS);
	turns();
	assert_int_equal(edges[0].heard, REST_NOTES_MIN + 200);
	assert_int_equal(collected, 1);
	tell(&edges[0], 1);
	turns();
	assert_int_equal(edges[0].heard, REST_NOTES_MIN + 200);
}

/* How often it read of REST_MS - 1 ms in which so many came in each. */
static unsigned reads_of(unsigned each_ms)
{
	unsigned reads = 0;

	tire(&edges[0]);
	for (unsigned ms = 1; ms < REST_MS; ms++) {
		unsigned before = edges[0].heard;

		tell(&edges[0], each_ms);
		fake_advance(loop, 1);
		turns();
		reads += edges[0].heard != before;
	}
	return reads;
}

static void rest_reads_before_a_socket_is_full_and_stores_later(void **state)
{
	(void)state;
	assert_int_equal(reads_of(REST_FEW / REST_READ_MS + 1),
			 (REST_MS - 1) / REST_READ_MS);
	assert_int_equal(collected, 0);
	fake_advance(loop, REST_READ_MS);
	turns();
	assert_int_equal(collected, 1);
}

/* The first time tells that. */
static void rest_reads_what_fits_a_socket_when_it_stores(void **state)
{
	(void)state;
	assert_int_equal(reads_of(REST_FEW / REST_READ_MS), 1);
	assert_int_equal(collected, 0);
	fake_advance(loop, 1);
	turns();
	assert_int_equal(collected, 1);
	assert_int_equal(edges[0].heard, REST_NOTES_MIN + (REST_MS - 1) *
								  REST_FEW /
								  REST_READ_MS);
}

/* Whoever tells more and more is read more often from the next time on. */
static void rest_reads_more_often_when_more_comes(void **state)
{
	(void)state;
	assert_int_equal(reads_of(REST_FEW / REST_READ_MS), 1);
	tell(&edges[0], 2 * REST_FEW * REST_MS / REST_READ_MS);
	fake_advance(loop, 1);
	turns();
	tell(&edges[0], 1);
	fake_advance(loop, REST_READ_MS);
	turns();
	assert_int_equal(edges[0].heard,
			 REST_NOTES_MIN +
				 (REST_MS - 1) * REST_FEW / REST_READ_MS +
				 2 * REST_FEW * REST_MS / REST_READ_MS + 1);
}

static void rest_ends_when_little_is_told(void **state)
{
	(void)state;
	tire(&edges[0]);
	tell(&edges[0], 1);
	fake_advance(loop, REST_MS);
	turns();
	tell(&edges[0], 1);
	turns();
	assert_int_equal(edges[0].heard, REST_NOTES_MIN + 2);
}

static void rest_lets_the_others_be_heard(void **state)
{
	(void)state;
	tire(&edges[0]);
	tell(&edges[0], 1);
	tell(&edges[1], 1);
	turns();
	assert_int_equal(edges[0].heard, REST_NOTES_MIN);
	assert_int_equal(edges[1].heard, 1);
}

static void rest_collects_from_all_when_it_is_told_to(void **state)
{
	(void)state;
	tire(&edges[0]);
	tire(&edges[1]);
	tell(&edges[0], 2);
	tell(&edges[1], 2);
	turns();
	rest_collect(&rest);
	assert_int_equal(edges[0].heard, REST_NOTES_MIN + 2);
	assert_int_equal(edges[1].heard, REST_NOTES_MIN + 2);
	assert_int_equal(collected, 0);
}

static void rest_survives_who_is_dropped_while_it_collects(void **state)
{
	(void)state;
	tire(&edges[0]);
	tire(&edges[1]);
	edges[0].is_dropped = true;
	tell(&edges[0], 2);
	tell(&edges[1], 2);
	turns();
	rest_collect(&rest);
	assert_int_equal(edges[0].heard, REST_NOTES_MIN + 1);
	assert_int_equal(edges[1].heard, REST_NOTES_MIN + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rest_hears_who_tells_little_at_once),
		TEST(rest_collects_from_who_tells_much_now_and_then),
		TEST(rest_reads_before_a_socket_is_full_and_stores_later),
		TEST(rest_reads_what_fits_a_socket_when_it_stores),
		TEST(rest_reads_more_often_when_more_comes),
		TEST(rest_ends_when_little_is_told),
		TEST(rest_lets_the_others_be_heard),
		TEST(rest_collects_from_all_when_it_is_told_to),
		TEST(rest_survives_who_is_dropped_while_it_collects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
