#include "tests/contract/ends.h"

#define IN_MAX	 1024
#define OUT_HIGH 4096
#define OUT_MAX	 (256 << 10)
#define NARROW	 4096

/* One io and what happened to it, as a line of letters. */
struct rig {
	struct io_loop *loop;
	int fds[2];
	struct io *io;
	char seen[256];
	size_t seen_len;
	void (*then)(struct rig *rig, enum io_event event);
	struct io *other;
	struct bytes answer;
	unsigned count;
};

static void rig_on_event(struct io *io, enum io_event event, void *owner)
{
	static const char letters[IO_EVENT_MAX] = "DEWFTHYR";
	struct rig *rig = owner;

	if (io == rig->io) {
		assert_true(rig->seen_len < sizeof(rig->seen) - 1);
		rig->seen[rig->seen_len++] = letters[event];
	}
	if (rig->then)
		rig->then(rig, event);
	if (event == IO_RELEASED && io == rig->io)
		rig->io = NULL;
}

static void rig_set_up_on(struct rig *rig, void (*pair)(int fds[2]))
{
	static const struct io_limits limits = {IN_MAX, OUT_HIGH, OUT_MAX};
	struct err err;

	*rig = (struct rig){.count = 0};
	rig->loop = io_loop_new(&err);
	assert_non_null(rig->loop);
	pair(rig->fds);
	rig->io = io_new(rig->loop, rig->fds[0], &limits, rig_on_event, rig);
	assert_non_null(rig->io);
}

static void rig_set_up(struct rig *rig)
{
	rig_set_up_on(rig, ends_pair);
}

static void narrow_pair(int fds[2])
{
	ends_pair_narrow(fds, NARROW);
}

static void rig_tear_down(struct rig *rig)
{
	io_loop_free(rig->loop);
	assert_null(rig->io);
	ends_finish();
}

static void assert_in(struct rig *rig, const char *text)
{
	assert_true(bytes_is(buf_view(io_in(rig->io)), text));
}

static void assert_received(struct rig *rig, const char *text)
{
	struct buf *got = ends_received(rig->fds[1]);

	assert_true(bytes_is(buf_view(got), text));
	buf_consume(got, buf_len(got));
}

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
