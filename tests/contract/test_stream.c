#include "tests/contract/rig.h"

static void nothing_is_read_before_reading_starts(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	ends_send(rig.fds[1], bytes_str("hello"));
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "");
	io_read_start(rig.io);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "D");
	assert_in(&rig, "hello");
	rig_tear_down(&rig);
}

static void stopped_reading_delivers_nothing(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	io_read_start(rig.io);
	ends_run(rig.loop);
	io_read_stop(rig.io);
	ends_send(rig.fds[1], bytes_str("hello"));
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "");
	io_read_start(rig.io);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "D");
	rig_tear_down(&rig);
}

static void end_comes_once_after_the_data(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	ends_send(rig.fds[1], bytes_str("last words"));
	ends_end(rig.fds[1]);
	io_read_start(rig.io);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "DE");
	assert_in(&rig, "last words");
	assert_int_equal(io_write(rig.io, bytes_str("still here")), 0);
	ends_run(rig.loop);
	assert_received(&rig, "still here");
	assert_string_equal(rig.seen, "DE");
	rig_tear_down(&rig);
}

static void reading_never_passes_the_bound_and_resumes(void **state)
{
	struct rig rig;
	uint8_t block[5 * IN_MAX];
	size_t total = 0;

	(void)state;
	rig_set_up(&rig);
	memset(block, 'x', sizeof(block));
	ends_send(rig.fds[1], bytes_from(block, sizeof(block)));
	io_read_start(rig.io);
	while (total < sizeof(block)) {
		size_t len;

		ends_run(rig.loop);
		len = buf_len(io_in(rig.io));
		assert_int_equal(len, IN_MAX);
		buf_consume(io_in(rig.io), len);
		total += len;
	}
	ends_run(rig.loop);
	assert_int_equal(buf_len(io_in(rig.io)), 0);
	assert_string_equal(rig.seen, "DDDDD");
	rig_tear_down(&rig);
}

static void write_outside_a_turn_goes_at_once(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	assert_int_equal(io_write(rig.io, bytes_str("one ")), 0);
	assert_int_equal(io_write(rig.io, bytes_str("two")), 0);
	assert_int_equal(io_out_len(rig.io), 0);
	assert_received(&rig, "one two");
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "");
	rig_tear_down(&rig);
}

static void answer_twice(struct rig *rig, enum io_event event)
{
	if (event != IO_DATA)
		return;
	assert_int_equal(io_write(rig->io, bytes_str("an")), 0);
	assert_int_equal(io_write(rig->io, bytes_str("swer")), 0);
	buf_consume(io_in(rig->io), buf_len(io_in(rig->io)));
}

static void write_inside_a_callback_goes_when_it_returns(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig.then = answer_twice;
	io_read_start(rig.io);
	ends_send(rig.fds[1], bytes_str("question"));
	ends_run(rig.loop);
	assert_received(&rig, "answer");
	ends_send(rig.fds[1], bytes_str("question"));
	ends_run(rig.loop);
	assert_received(&rig, "answer");
	assert_string_equal(rig.seen, "DD");
	rig_tear_down(&rig);
}

#define LARGE 40000 /* sent without a copy, behind what is queued */

static void fill_counting(uint8_t *block, size_t len)
{
	for (size_t i = 0; i < len; i++)
		block[i] = (uint8_t)(i % 251);
}

static void answer_in_parts(struct rig *rig, enum io_event event)
{
	uint8_t block[LARGE];

	if (event != IO_DATA)
		return;
	fill_counting(block, sizeof(block));
	assert_int_equal(io_write(rig->io, bytes_str("head")), 0);
	assert_int_equal(io_write(rig->io, bytes_from(block, sizeof(block))),
			 0);
	assert_int_equal(io_write(rig->io, bytes_str("mid")), 0);
	assert_int_equal(io_write(rig->io, bytes_from(block, sizeof(block))),
			 0);
	assert_int_equal(io_write(rig->io, bytes_str("tail")), 0);
	buf_consume(io_in(rig->io), buf_len(io_in(rig->io)));
}

static void assert_taken(struct buf *all, const char *text, size_t len)
{
	uint8_t block[LARGE];
	struct bytes wanted = bytes_str(text);

	if (!text) {
		fill_counting(block, len);
		wanted = bytes_from(block, len);
	}
	assert_true(bytes_starts_with(buf_view(all), wanted));
	buf_consume(all, wanted.len);
}

static void assert_parts_come_in_order(void (*pair)(int fds[2]))
{
	const size_t total = 4 + LARGE + 3 + LARGE + 4;
	struct rig rig;
	struct buf all;

	rig_set_up_on(&rig, pair);
	buf_init(&all, total);
	rig.then = answer_in_parts;
	io_read_start(rig.io);
	ends_send(rig.fds[1], bytes_str("question"));
	while (buf_len(&all) < total) {
		struct buf *received;

		ends_run(rig.loop);
		received = ends_received(rig.fds[1]);
		assert_true(buf_len(received) > 0);
		assert_int_equal(buf_add(&all, buf_view(received)), 0);
		buf_consume(received, buf_len(received));
	}
	assert_taken(&all, "head", 0);
	assert_taken(&all, NULL, LARGE);
	assert_taken(&all, "mid", 0);
	assert_taken(&all, NULL, LARGE);
	assert_taken(&all, "tail", 0);
	assert_int_equal(io_out_len(rig.io), 0);
	buf_release(&all);
	rig_tear_down(&rig);
}

static void large_write_follows_what_is_queued(void **state)
{
	(void)state;
	assert_parts_come_in_order(ends_pair);
}

static void large_write_follows_what_is_queued_where_little_goes(void **state)
{
	(void)state;
	assert_parts_come_in_order(narrow_pair);
}

static void blocked_write_is_queued_and_drained_is_told_once(void **state)
{
	struct rig rig;
	uint8_t block[OUT_MAX];
	size_t got = 0;

	(void)state;
	rig_set_up_on(&rig, narrow_pair);
	memset(block, 'y', sizeof(block));
	assert_int_equal(io_write(rig.io, bytes_from(block, sizeof(block))), 0);
	assert_true(io_out_len(rig.io) > 0);
	assert_true(io_is_full(rig.io));
	while (got < sizeof(block)) {
		struct buf *received;

		ends_run(rig.loop);
		received = ends_received(rig.fds[1]);
		assert_true(buf_len(received) > 0);
		got += buf_len(received);
		buf_consume(received, buf_len(received));
	}
	ends_run(rig.loop);
	assert_int_equal(got, sizeof(block));
	assert_int_equal(io_out_len(rig.io), 0);
	assert_string_equal(rig.seen, "W");
	rig_tear_down(&rig);
}

static void write_above_the_bound_is_refused_whole(void **state)
{
	uint8_t block[OUT_MAX];
	struct rig rig;
	size_t queued;

	(void)state;
	rig_set_up_on(&rig, narrow_pair);
	memset(block, 'z', sizeof(block));
	assert_int_equal(io_write(rig.io, bytes_from(block, sizeof(block))), 0);
	queued = io_out_len(rig.io);
	assert_int_equal(io_write(rig.io, bytes_from(block, sizeof(block))),
			 -1);
	assert_int_equal(io_out_len(rig.io), queued);
	assert_int_equal(io_write(rig.io, bytes_str("fits")), 0);
	rig_tear_down(&rig);
}

static void end_follows_what_is_queued(void **state)
{
	uint8_t block[OUT_MAX];
	struct rig rig;
	size_t got = 0;

	(void)state;
	rig_set_up_on(&rig, narrow_pair);
	memset(block, 'z', sizeof(block));
	assert_int_equal(io_write(rig.io, bytes_from(block, sizeof(block))), 0);
	io_end(rig.io);
	assert_int_equal(io_write(rig.io, bytes_str("late")), -1);
	while (!ends_is_ended(rig.fds[1])) {
		struct buf *received = ends_received(rig.fds[1]);

		got += buf_len(received);
		buf_consume(received, buf_len(received));
		ends_run(rig.loop);
	}
	got += buf_len(ends_received(rig.fds[1]));
	assert_int_equal(got, sizeof(block));
	io_read_start(rig.io);
	ends_send(rig.fds[1], bytes_str("still heard"));
	ends_run(rig.loop);
	assert_in(&rig, "still heard");
	rig_tear_down(&rig);
}

static void reset_is_a_failure_with_a_reason(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	io_read_start(rig.io);
	ends_run(rig.loop);
	assert_int_equal(io_error(rig.io)->code, ERR_NONE);
	ends_reset(rig.fds[1]);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "F");
	assert_int_equal(io_error(rig.io)->code, ERR_SYSTEM);
	assert_int_equal(io_error(rig.io)->number, ECONNRESET);
	assert_int_equal(io_write(rig.io, bytes_str("x")), -1);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "F");
	rig_tear_down(&rig);
}

static void peer_that_closes_while_we_write_is_heard_first(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up_on(&rig, narrow_pair);
	ends_send(rig.fds[1], bytes_str("too large, go away"));
	ends_close(rig.fds[1]);
	io_read_start(rig.io);
	assert_int_equal(io_write(rig.io, bytes_str("body")), -1);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "DF");
	assert_in(&rig, "too large, go away");
	rig_tear_down(&rig);
}

static void deadline_fires_once_and_moves(void **state)
{
	struct rig rig;
	uint64_t began;

	(void)state;
	rig_set_up(&rig);
	io_deadline(rig.io, 20);
	began = io_loop_now_ms(rig.loop);
	io_deadline(rig.io, 60);
	assert_seen_after(&rig, "T", began, 60);
	ends_advance(rig.loop, 60);
	assert_string_equal(rig.seen, "T");
	io_deadline(rig.io, 60);
	began = io_loop_now_ms(rig.loop);
	io_deadline(rig.io, 10);
	assert_seen_after(&rig, "TT", began, 10);
	io_deadline(rig.io, 10);
	io_deadline(rig.io, 0);
	ends_advance(rig.loop, 30);
	assert_string_equal(rig.seen, "TT");
	rig_tear_down(&rig);
}

static void idle_io_holds_no_buffer(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	io_read_start(rig.io);
	ends_send(rig.fds[1], bytes_str("question"));
	ends_run(rig.loop);
	assert_true(io_in(rig.io)->size <= IN_MAX);
	buf_consume(io_in(rig.io), buf_len(io_in(rig.io)));
	rig.then = answer_twice;
	ends_send(rig.fds[1], bytes_str("question"));
	ends_run(rig.loop);
	assert_null(io_in(rig.io)->data);
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_read_before_reading_starts),
		cmocka_unit_test(stopped_reading_delivers_nothing),
		cmocka_unit_test(end_comes_once_after_the_data),
		cmocka_unit_test(reading_never_passes_the_bound_and_resumes),
		cmocka_unit_test(write_outside_a_turn_goes_at_once),
		cmocka_unit_test(write_inside_a_callback_goes_when_it_returns),
		cmocka_unit_test(
			blocked_write_is_queued_and_drained_is_told_once),
		cmocka_unit_test(large_write_follows_what_is_queued),
		cmocka_unit_test(
			large_write_follows_what_is_queued_where_little_goes),
		cmocka_unit_test(write_above_the_bound_is_refused_whole),
		cmocka_unit_test(end_follows_what_is_queued),
		cmocka_unit_test(reset_is_a_failure_with_a_reason),
		cmocka_unit_test(
			peer_that_closes_while_we_write_is_heard_first),
		cmocka_unit_test(deadline_fires_once_and_moves),
		cmocka_unit_test(idle_io_holds_no_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
