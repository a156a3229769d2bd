#include "common/cleanup.h"
#include "tests/contract/rig.h"

static void close_delivers_only_released(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	io_read_start(rig.io);
	io_deadline(rig.io, 1);
	ends_send(rig.fds[1], bytes_str("unread"));
	io_close(rig.io);
	io_close(rig.io);
	assert_string_equal(rig.seen, "");
	ends_advance(rig.loop, 10);
	assert_string_equal(rig.seen, "R");
	assert_null(rig.io);
	assert_true(ends_is_ended(rig.fds[1]));
	rig_tear_down(&rig);
}

/* The deadline begins with the data, so that the end is always before it. */
static void close_at(struct rig *rig, enum io_event event)
{
	if (event == IO_DATA)
		io_deadline(rig->io, 20);
	if (event == rig->closes_at)
		io_close(rig->io);
	/* Nothing below may touch what is gone. */
	if (event == rig->closes_at)
		assert_int_equal(io_write(rig->io, bytes_str("x")), -1);
}

static void close_inside_any_event_is_the_last_word(void **state)
{
	static const struct {
		enum io_event event;
		const char *seen;
	} rows[] = {
		{IO_DATA, "DR"},
		{IO_EOF, "DER"},
		{IO_TIMEOUT, "DETR"},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rig rig;

		rig_set_up(&rig);
		rig.then = close_at;
		rig.closes_at = rows[i].event;
		io_read_start(rig.io);
		ends_send(rig.fds[1], bytes_str("data"));
		ends_end(rig.fds[1]);
		ends_run(rig.loop);
		ends_advance(rig.loop, 40);
		assert_string_equal(rig.seen, rows[i].seen);
		rig_tear_down(&rig);
	}
}

static void close_the_other(struct rig *rig, enum io_event event)
{
	struct io *first = rig->io;

	if (event != IO_DATA || !rig->second)
		return;
	/* The letter of the first io was noted before this call. */
	io_close(rig->seen_len > 0 ? rig->second : first);
	rig->second = NULL;
}

/* Two ios are ready in the same turn; whoever comes first closes the
 * other, which must not be heard of again. */
static void closed_by_another_delivers_nothing_more(void **state)
{
	static const struct io_limits limits = {IN_MAX, OUT_HIGH, OUT_MAX};
	struct rig rig;
	int fds[2];

	(void)state;
	rig_set_up(&rig);
	ends_pair(fds);
	rig.then = close_the_other;
	rig.second = io_new(rig.loop, fds[0], &limits, rig_on_event, &rig);
	io_read_start(rig.io);
	io_read_start(rig.second);
	ends_run(rig.loop);
	ends_send(fds[1], bytes_str("a"));
	ends_send(rig.fds[1], bytes_str("b"));
	ends_run(rig.loop);
	assert_true(!strcmp(rig.seen, "R") || !strcmp(rig.seen, "D"));
	assert_int_equal(rig.data_count, 1);
	rig_tear_down(&rig);
}

static void write_then_close(struct rig *rig, enum io_event event)
{
	if (event != IO_DATA)
		return;
	if (rig->data_count == 1)
		assert_int_equal(io_write(rig->io, bytes_str("kept")), 0);
	else
		io_close(rig->io);
}

/* Two ios are ready in the same turn: the first callback writes to one of
 * them, the second closes that. */
static void close_does_not_take_back_what_another_callback_wrote(void **state)
{
	static const struct io_limits limits = {IN_MAX, OUT_HIGH, OUT_MAX};
	struct rig rig;
	int fds[2];

	(void)state;
	rig_set_up(&rig);
	ends_pair(fds);
	rig.then = write_then_close;
	rig.second = io_new(rig.loop, fds[0], &limits, rig_on_event, &rig);
	io_read_start(rig.io);
	io_read_start(rig.second);
	ends_run(rig.loop);
	ends_send(fds[1], bytes_str("a"));
	ends_send(rig.fds[1], bytes_str("b"));
	ends_run(rig.loop);
	assert_int_equal(rig.data_count, 2);
	assert_received(&rig, "kept");
	assert_true(ends_is_ended(rig.fds[1]));
	assert_string_equal(rig.seen, "DR");
	rig_tear_down(&rig);
}

static void flushed_close_sends_the_queue_first(void **state)
{
	uint8_t block[OUT_MAX];
	struct rig rig;
	size_t got = 0;

	(void)state;
	rig_set_up_on(&rig, narrow_pair);
	memset(block, 'z', sizeof(block));
	assert_int_equal(io_write(rig.io, bytes_from(block, sizeof(block))), 0);
	io_close_flushed(rig.io, 10000);
	while (!ends_is_ended(rig.fds[1])) {
		struct buf *received = ends_received(rig.fds[1]);

		got += buf_len(received);
		buf_consume(received, buf_len(received));
		ends_run(rig.loop);
	}
	got += buf_len(ends_received(rig.fds[1]));
	assert_int_equal(got, sizeof(block));
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "R");
	rig_tear_down(&rig);
}

static void flushed_close_gives_up_after_the_linger(void **state)
{
	uint8_t block[OUT_MAX];
	struct rig rig;
	uint64_t began;

	(void)state;
	rig_set_up_on(&rig, narrow_pair);
	memset(block, 'z', sizeof(block));
	assert_int_equal(io_write(rig.io, bytes_from(block, sizeof(block))), 0);
	began = io_loop_now_ms(rig.loop);
	io_close_flushed(rig.io, 30);
	assert_seen_after(&rig, "R", began, 30);
	rig_tear_down(&rig);
}

static void flushed_close_of_a_quiet_peer_is_immediate(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	assert_int_equal(io_write(rig.io, bytes_str("bye")), 0);
	io_close_flushed(rig.io, 10000);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "R");
	assert_received(&rig, "bye");
	assert_true(ends_is_ended(rig.fds[1]));
	rig_tear_down(&rig);
}

static void flushed_close_reads_a_peer_that_still_sends(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	ends_send(rig.fds[1], bytes_str("a body that nobody wants"));
	ends_run(rig.loop);
	assert_int_equal(io_write(rig.io, bytes_str("403")), 0);
	io_close_flushed(rig.io, 10000);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "");
	ends_send(rig.fds[1], bytes_str("and more of it"));
	ends_run(rig.loop);
	assert_received(&rig, "403");
	assert_true(ends_is_ended(rig.fds[1]));
	ends_end(rig.fds[1]);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "R");
	rig_tear_down(&rig);
}

static void set_up_full(struct rig *rig)
{
	uint8_t block[OUT_MAX];

	rig_set_up_on(rig, narrow_pair);
	memset(block, 'z', sizeof(block));
	assert_int_equal(io_write(rig->io, bytes_from(block, sizeof(block))),
			 0);
}

static void read_close_gives_up_who_reads_nothing(void **state)
{
	struct rig rig;
	uint64_t began;

	(void)state;
	set_up_full(&rig);
	began = io_loop_now_ms(rig.loop);
	io_close_read(rig.io, 30, 60000);
	assert_seen_after(&rig, "R", began, 30);
	rig_tear_down(&rig);
}

static void read_close_is_hurried_by_a_flushed_one(void **state)
{
	static const unsigned lingers_ms[] = {30, 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lingers_ms); i++) {
		struct rig rig;
		uint64_t began;

		set_up_full(&rig);
		io_close_read(rig.io, 60000, 60000);
		ends_run(rig.loop);
		assert_string_equal(rig.seen, "");
		began = io_loop_now_ms(rig.loop);
		io_close_flushed(rig.io, lingers_ms[i]);
		assert_seen_after(&rig, "R", began, lingers_ms[i]);
		rig_tear_down(&rig);
	}
}

static void detach_gives_a_working_descriptor(void **state)
{
	static const struct io_limits limits = {IN_MAX, OUT_HIGH, OUT_MAX};
	struct rig rig;
	int fd;

	(void)state;
	rig_set_up(&rig);
	io_read_start(rig.io);
	ends_run(rig.loop);
	fd = io_detach(rig.io);
	assert_int_equal(fd, rig.fds[0]);
	ends_send(rig.fds[1], bytes_str("later"));
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "R");
	rig.io = io_new(rig.loop, fd, &limits, rig_on_event, &rig);
	io_read_start(rig.io);
	ends_run(rig.loop);
	assert_string_equal(rig.seen, "RD");
	assert_in(&rig, "later");
	rig_tear_down(&rig);
}

static void loop_that_is_freed_releases_every_io(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	io_read_start(rig.io);
	ends_run(rig.loop);
	io_loop_free(rig.loop);
	assert_string_equal(rig.seen, "R");
	ends_finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close_delivers_only_released),
		cmocka_unit_test(close_inside_any_event_is_the_last_word),
		cmocka_unit_test(closed_by_another_delivers_nothing_more),
		cmocka_unit_test(
			close_does_not_take_back_what_another_callback_wrote),
		cmocka_unit_test(flushed_close_sends_the_queue_first),
		cmocka_unit_test(flushed_close_gives_up_after_the_linger),
		cmocka_unit_test(flushed_close_of_a_quiet_peer_is_immediate),
		cmocka_unit_test(flushed_close_reads_a_peer_that_still_sends),
		cmocka_unit_test(read_close_gives_up_who_reads_nothing),
		cmocka_unit_test(read_close_is_hurried_by_a_flushed_one),
		cmocka_unit_test(detach_gives_a_working_descriptor),
		cmocka_unit_test(loop_that_is_freed_releases_every_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
