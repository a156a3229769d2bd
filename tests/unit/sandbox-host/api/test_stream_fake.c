#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "sandbox-host/api/conn.h"

#define WINDOW 4096
#define PINGS  100

struct rig {
	struct api api;
	struct exchange *exchange;
	int client;
	bool has_ended;
};

static struct rig *rig;

static void on_end(struct exchange *exchange)
{
	(void)exchange;
	rig->has_ended = true;
}

/* An answer streams to a client that takes WINDOW bytes before it reads. */
static int set_up(void **state)
{
	struct err err;
	int fds[2];

	(void)state;
	rig = calloc(1, sizeof(*rig));
	assert_non_null(rig);
	rig->api.loop = io_loop_new(&err);
	rig->api.conns_max = 4;
	assert_non_null(rig->api.loop);
	fake_stream_pair(fds);
	rig->client = fds[1];
	conn_accept(&rig->api, fds[0]);
	rig->exchange = &rig->api.conns->exchange;
	rig->exchange->on_end = on_end;
	fake_set_window(fds[1], WINDOW);
	assert_int_equal(exchange_stream_begin(rig->exchange, 200, "text/plain",
					       UINT64_MAX),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (rig->api.conns)
		conn_close(rig->api.conns);
	fake_run(rig->api.loop);
	io_loop_free(rig->api.loop);
	fake_reset_all();
	free(rig);
	return 0;
}

static void write_piece(size_t len)
{
	static const uint8_t zeros[2 * WINDOW];

	assert_true(len <= sizeof(zeros));
	(void)exchange_stream_write(rig->exchange, bytes_from(zeros, len));
	fake_run(rig->api.loop);
}

static void read_all(void)
{
	buf_clear(fake_received(rig->client));
	fake_set_window(rig->client, WINDOW);
	fake_run(rig->api.loop);
}

static void pings_keep_nobody_who_does_not_read(void **state)
{
	uint64_t ms = 0;

	(void)state;
	write_piece(WINDOW);
	for (; !rig->has_ended && ms < 10 * EXCHANGE_STALLED_MS; ms += 3000) {
		write_piece(20);
		fake_advance(rig->api.loop, 3000);
	}
	assert_true(rig->has_ended);
	assert_true(ms >= EXCHANGE_STALLED_MS - 3000 &&
		    ms <= EXCHANGE_STALLED_MS + 3000);
}

static void who_reads_is_kept_however_slowly(void **state)
{
	(void)state;
	for (int i = 0; i < PINGS; i++) {
		write_piece(WINDOW + 100);
		fake_advance(rig->api.loop, EXCHANGE_STALLED_MS - 1);
		assert_false(rig->has_ended);
		read_all();
	}
	assert_false(rig->has_ended);
}

static void who_reads_a_little_is_kept(void **state)
{
	(void)state;
	write_piece(WINDOW);
	write_piece(WINDOW);
	for (int i = 0; i < 20; i++) {
		buf_consume(fake_received(rig->client), 100);
		fake_set_window(rig->client, WINDOW);
		fake_run(rig->api.loop);
		fake_advance(rig->api.loop, EXCHANGE_STALLED_MS - 1);
		assert_false(rig->has_ended);
	}
	fake_advance(rig->api.loop, 2 * EXCHANGE_STALLED_MS);
	assert_true(rig->has_ended);
}

static void who_has_read_everything_may_wait_for_more(void **state)
{
	(void)state;
	for (int i = 0; i < PINGS; i++) {
		write_piece(20);
		read_all();
		fake_advance(rig->api.loop, 2 * EXCHANGE_STALLED_MS);
		assert_false(rig->has_ended);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			pings_keep_nobody_who_does_not_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_reads_is_kept_however_slowly, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_reads_a_little_is_kept,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_has_read_everything_may_wait_for_more, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
