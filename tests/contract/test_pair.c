#include "common/io_pair.h"
#include "tests/contract/rig.h"

#define QUEUE_ALL (4 * IO_PAIR_QUEUE)

/* One end and what happened to it. */
struct end {
	struct io *io;
	char seen[64];
	size_t seen_len;
	size_t data; /* bytes taken */
	bool keeps;  /* leaves what it reads */
};

struct pair {
	struct io_loop *loop;
	struct end ends[2];
};

static void on_end(struct io *io, enum io_event event, void *owner)
{
	static const char letters[IO_EVENT_MAX] = "DEWFTHYR";
	struct end *end = owner;

	/* However many there are, one letter. */
	if (end->seen_len == 0 ||
	    end->seen[end->seen_len - 1] != letters[event]) {
		assert_true(end->seen_len < sizeof(end->seen) - 1);
		end->seen[end->seen_len++] = letters[event];
	}
	if (event == IO_DATA && !end->keeps) {
		end->data += buf_len(io_in(io));
		buf_clear(io_in(io));
	}
	if (event == IO_RELEASED)
		end->io = NULL;
}

static void open_pair(struct pair *pair)
{
	static const struct io_limits limits[2] = {
		{IN_MAX, OUT_HIGH, QUEUE_ALL},
		{IN_MAX, OUT_HIGH, QUEUE_ALL},
	};
	struct io *ios[2];
	struct err err;

	memset(pair, 0, sizeof(*pair));
	pair->loop = io_loop_new(&err);
	assert_non_null(pair->loop);
	assert_int_equal(io_pair_new(pair->loop, limits, ios), 0);
	for (size_t i = 0; i < 2; i++) {
		pair->ends[i].io = ios[i];
		io_set_owner(ios[i], on_end, &pair->ends[i]);
	}
}

static void close_pair(struct pair *pair)
{
	io_loop_free(pair->loop);
	assert_null(pair->ends[0].io);
	assert_null(pair->ends[1].io);
	ends_finish();
}

static void turn(struct pair *pair)
{
	ends_advance(pair->loop, 1);
}

static void what_one_writes_the_other_reads(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	pair.ends[1].keeps = true;
	io_read_start(pair.ends[0].io);
	io_read_start(pair.ends[1].io);
	assert_int_equal(io_write(pair.ends[0].io, bytes_str("hello")), 0);
	turn(&pair);
	assert_true(bytes_is(buf_view(io_in(pair.ends[1].io)), "hello"));
	assert_int_equal(io_write(pair.ends[1].io, bytes_str("you")), 0);
	turn(&pair);
	assert_int_equal(pair.ends[0].data, 3);
	assert_string_equal(pair.ends[0].seen, "D");
	assert_string_equal(pair.ends[1].seen, "D");
	close_pair(&pair);
}

static void what_came_before_reading_is_not_lost(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	assert_int_equal(io_write(pair.ends[0].io, bytes_str("early")), 0);
	io_end(pair.ends[0].io);
	turn(&pair);
	assert_string_equal(pair.ends[1].seen, "");
	io_read_start(pair.ends[1].io);
	turn(&pair);
	assert_string_equal(pair.ends[1].seen, "DE");
	assert_int_equal(pair.ends[1].data, 5);
	close_pair(&pair);
}

/* The out queue fills once the reader does not take what waits, and drains
 * in order when it does. */
static void a_reader_that_waits_holds_the_writer_back(void **state)
{
	static uint8_t block[2 * IO_PAIR_QUEUE];
	struct pair pair;

	(void)state;
	open_pair(&pair);
	assert_int_equal(
		io_write(pair.ends[0].io, bytes_from(block, sizeof(block))), 0);
	turn(&pair);
	assert_int_equal(io_out_len(pair.ends[0].io), IO_PAIR_QUEUE);
	assert_true(io_is_full(pair.ends[0].io));
	assert_string_equal(pair.ends[0].seen, "");
	io_read_start(pair.ends[1].io);
	for (size_t i = 0; i < 2 * sizeof(block) / IN_MAX; i++)
		turn(&pair);
	assert_int_equal(pair.ends[1].data, sizeof(block));
	assert_string_equal(pair.ends[0].seen, "W");
	close_pair(&pair);
}

static void a_close_lets_the_other_read_what_was_sent(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	assert_int_equal(io_write(pair.ends[0].io, bytes_str("last")), 0);
	io_close(pair.ends[0].io);
	io_read_start(pair.ends[1].io);
	turn(&pair);
	assert_string_equal(pair.ends[0].seen, "R");
	assert_string_equal(pair.ends[1].seen, "WDE");
	assert_int_equal(pair.ends[1].data, 4);
	close_pair(&pair);
}

static void writing_to_who_closed_fails(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	io_close(pair.ends[1].io);
	turn(&pair);
	(void)io_write(pair.ends[0].io, bytes_str("x"));
	turn(&pair);
	assert_string_equal(pair.ends[0].seen, "WF");
	close_pair(&pair);
}

static void closing_frees_a_writer_that_waits(void **state)
{
	static uint8_t block[2 * IO_PAIR_QUEUE];
	struct pair pair;

	(void)state;
	open_pair(&pair);
	assert_int_equal(
		io_write(pair.ends[0].io, bytes_from(block, sizeof(block))), 0);
	turn(&pair);
	io_close(pair.ends[1].io);
	turn(&pair);
	turn(&pair);
	assert_string_equal(pair.ends[0].seen, "F");
	close_pair(&pair);
}

static void an_abort_reaches_who_does_not_read(void **state)
{
	struct pair pair;
	struct err err;

	(void)state;
	open_pair(&pair);
	err_set(&err, ERR_INVALID, "reset");
	assert_int_equal(io_write(pair.ends[0].io, bytes_str("lost")), 0);
	io_pair_abort(pair.ends[0].io, &err);
	turn(&pair);
	assert_string_equal(pair.ends[1].seen, "F");
	assert_int_equal(io_error(pair.ends[1].io)->code, ERR_INVALID);
	assert_string_equal(io_error(pair.ends[1].io)->text, "reset");
	close_pair(&pair);
}

static void a_flushed_close_waits_for_the_reader_and_no_longer(void **state)
{
	static uint8_t block[2 * IO_PAIR_QUEUE];
	struct pair pair;

	(void)state;
	open_pair(&pair);
	assert_int_equal(
		io_write(pair.ends[0].io, bytes_from(block, sizeof(block))), 0);
	io_close_flushed(pair.ends[0].io, 10000);
	turn(&pair);
	assert_string_equal(pair.ends[0].seen, "");
	io_read_start(pair.ends[1].io);
	for (size_t i = 0; i < 2 * sizeof(block) / IN_MAX; i++)
		turn(&pair);
	assert_int_equal(pair.ends[1].data, sizeof(block));
	assert_string_equal(pair.ends[0].seen, "R");
	assert_string_equal(pair.ends[1].seen, "DWDE");
	close_pair(&pair);
}

static void a_close_after_the_end_is_heard(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	io_read_start(pair.ends[1].io);
	io_end(pair.ends[0].io);
	turn(&pair);
	assert_string_equal(pair.ends[1].seen, "E");
	assert_false(io_pair_is_alone(pair.ends[1].io));
	io_close(pair.ends[0].io);
	turn(&pair);
	assert_string_equal(pair.ends[1].seen, "EW");
	assert_true(io_pair_is_alone(pair.ends[1].io));
	close_pair(&pair);
}

static void a_deadline_of_an_end_passes(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	io_deadline(pair.ends[0].io, 5);
	ends_advance(pair.loop, 20);
	assert_string_equal(pair.ends[0].seen, "T");
	close_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_one_writes_the_other_reads),
		cmocka_unit_test(what_came_before_reading_is_not_lost),
		cmocka_unit_test(a_reader_that_waits_holds_the_writer_back),
		cmocka_unit_test(a_close_lets_the_other_read_what_was_sent),
		cmocka_unit_test(writing_to_who_closed_fails),
		cmocka_unit_test(closing_frees_a_writer_that_waits),
		cmocka_unit_test(an_abort_reaches_who_does_not_read),
		cmocka_unit_test(
			a_flushed_close_waits_for_the_reader_and_no_longer),
		cmocka_unit_test(a_close_after_the_end_is_heard),
		cmocka_unit_test(a_deadline_of_an_end_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
