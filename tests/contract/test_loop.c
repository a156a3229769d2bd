#include <errno.h>
#include <unistd.h>

#include "tests/contract/ends.h"

#define TIMERS 100

struct loop_rig {
	struct io_loop *loop;
	struct io_timer *timers[TIMERS];
	struct io_watch *watch;
	struct io_listener *listener;
	int fds[8];
	unsigned count;
	unsigned order[TIMERS + 1];
	bool is_again;
	struct sockaddr_storage original;
	bool was_redirected;
};

static void set_up(struct loop_rig *rig)
{
	*rig = (struct loop_rig){.count = 0};
	rig->loop = io_loop_new(NULL);
	assert_non_null(rig->loop);
}

static void tear_down(struct loop_rig *rig)
{
	io_loop_free(rig->loop);
	ends_finish();
}

/* ---- timers and deferred calls ---- */

static void on_tick(void *owner)
{
	struct loop_rig *rig = owner;

	rig->count++;
	if (rig->is_again)
		io_timer_set(rig->timers[0], 10);
}

static void timer_is_one_shot_and_can_be_set_again(void **state)
{
	struct loop_rig rig;

	(void)state;
	set_up(&rig);
	rig.timers[0] = io_timer_new(rig.loop, on_tick, &rig);
	io_timer_set(rig.timers[0], 10);
	ends_advance(rig.loop, 25);
	assert_int_equal(rig.count, 1);
	ends_advance(rig.loop, 25);
	assert_int_equal(rig.count, 1);
	rig.is_again = true;
	io_timer_set(rig.timers[0], 10);
	/* One after the other, each 10 ms after the one before. */
	for (unsigned i = 0; i < 2; i++)
		ends_advance(rig.loop, 10);
	assert_true(rig.count >= 3);
	io_timer_set(rig.timers[0], 0);
	rig.count = 0;
	ends_advance(rig.loop, 25);
	assert_int_equal(rig.count, 0);
	io_timer_free(rig.timers[0]);
	tear_down(&rig);
}

/* A timer is due between these: setting it takes time of its own. */
struct numbered {
	struct loop_rig *rig;
	unsigned number;
	uint64_t due_from_ms, due_to_ms;
};

static void on_numbered(void *owner)
{
	struct numbered *numbered = owner;

	numbered->rig->order[numbered->rig->count++] = numbered->number;
}

static void timers_fire_in_the_order_of_their_times(void **state)
{
	struct numbered numbered[TIMERS];
	struct loop_rig rig;

	(void)state;
	set_up(&rig);
	for (unsigned i = 0; i < TIMERS; i++) {
		numbered[i] = (struct numbered){.rig = &rig, .number = i};
		rig.timers[i] =
			io_timer_new(rig.loop, on_numbered, &numbered[i]);
		io_timer_set(rig.timers[i], 1 + i * 61 % 70);
	}
	for (unsigned i = 0; i < TIMERS; i++) {
		unsigned wait_ms = 1 + i * 37 % 50;

		numbered[i].due_from_ms = io_loop_now_ms(rig.loop) + wait_ms;
		io_timer_set(rig.timers[i], wait_ms);
		numbered[i].due_to_ms = io_loop_now_ms(rig.loop) + wait_ms;
	}
	for (unsigned i = 0; i < TIMERS; i += 10)
		io_timer_set(rig.timers[i], 0);
	ends_advance(rig.loop, 60);
	assert_int_equal(rig.count, TIMERS - TIMERS / 10);
	for (unsigned i = 1; i < rig.count; i++)
		assert_true(numbered[rig.order[i - 1]].due_from_ms <=
			    numbered[rig.order[i]].due_to_ms);
	for (unsigned i = 0; i < TIMERS; i++)
		io_timer_free(rig.timers[i]);
	tear_down(&rig);
}

static void on_deferred(void *owner)
{
	struct loop_rig *rig = owner;

	rig->count++;
	if (rig->is_again && rig->count < 3)
		assert_int_equal(io_loop_defer(rig->loop, on_deferred, rig), 0);
}

static void deferred_call_comes_once_at_the_end_of_the_turn(void **state)
{
	struct loop_rig rig;

	(void)state;
	set_up(&rig);
	assert_int_equal(io_loop_defer(rig.loop, on_deferred, &rig), 0);
	assert_int_equal(rig.count, 0);
	assert_int_equal(io_loop_turn(rig.loop, 1000, NULL), 0);
	assert_int_equal(rig.count, 1);
	rig.is_again = true;
	rig.count = 0;
	assert_int_equal(io_loop_defer(rig.loop, on_deferred, &rig), 0);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(io_loop_turn(rig.loop, 1000, NULL), 0);
		assert_int_equal(rig.count, i);
	}
	tear_down(&rig);
}

static void on_stop(void *owner)
{
	struct loop_rig *rig = owner;

	io_loop_stop(rig->loop);
}

static void run_ends_at_stop(void **state)
{
	struct loop_rig rig;

	(void)state;
	set_up(&rig);
	assert_int_equal(io_loop_defer(rig.loop, on_stop, &rig), 0);
	assert_int_equal(io_loop_run(rig.loop, NULL), 0);
	tear_down(&rig);
}

static void clock_moves_with_the_time_that_passes(void **state)
{
	struct loop_rig rig;
	uint64_t before;

	(void)state;
	set_up(&rig);
	before = io_loop_now_ms(rig.loop);
	ends_advance(rig.loop, 20);
	assert_in_range(io_loop_now_ms(rig.loop) - before, 20,
			20 + ENDS_LATE_MS);
	tear_down(&rig);
}

/* ---- watches and messages ---- */

static void on_watch(int fd, bool readable, bool writable, void *owner)
{
	struct loop_rig *rig = owner;
	uint8_t some[16];
	struct err err;
	int got;

	assert_int_equal(fd, rig->fds[0]);
	assert_true(readable);
	assert_false(writable);
	rig->count++;
	assert_int_equal(io_message_receive(fd, some, sizeof(some), &got, &err),
			 4);
	assert_int_equal(got, -1);
	if (rig->is_again)
		return;
	io_watch_free(rig->watch);
	rig->watch = NULL;
}

static void close_messages(struct loop_rig *rig)
{
	io_watch_free(rig->watch);
	(void)close(rig->fds[0]);
	(void)close(rig->fds[1]);
}

static void watch_calls_while_readable_and_not_after_free(void **state)
{
	struct loop_rig rig;

	(void)state;
	set_up(&rig);
	assert_int_equal(io_message_pair(rig.fds, NULL), 0);
	rig.watch = io_watch_new(rig.loop, rig.fds[0], on_watch, &rig);
	rig.is_again = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(io_message_send(rig.fds[1], bytes_str("ping"),
						 -1, NULL),
				 0);
	ends_run(rig.loop);
	assert_int_equal(rig.count, 0);
	io_watch_set(rig.watch, true, false);
	ends_run(rig.loop);
	assert_int_equal(rig.count, 3);
	rig.is_again = false;
	for (int i = 0; i < 2; i++)
		assert_int_equal(io_message_send(rig.fds[1], bytes_str("ping"),
						 -1, NULL),
				 0);
	ends_run(rig.loop);
	assert_int_equal(rig.count, 4);
	close_messages(&rig);
	tear_down(&rig);
}

static void on_watch_count(int fd, bool readable, bool writable, void *owner)
{
	struct loop_rig *rig = owner;

	(void)fd;
	(void)readable;
	(void)writable;
	rig->count++;
}

/* Else whoever is always ready would keep timers from firing. */
static void turn_is_one_round(void **state)
{
	struct loop_rig rig;

	(void)state;
	set_up(&rig);
	assert_int_equal(io_message_pair(rig.fds, NULL), 0);
	rig.watch = io_watch_new(rig.loop, rig.fds[0], on_watch_count, &rig);
	io_watch_set(rig.watch, true, false);
	assert_int_equal(
		io_message_send(rig.fds[1], bytes_str("ping"), -1, NULL), 0);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(io_loop_turn(rig.loop, (i & 1) * 10, NULL), 0);
		assert_int_equal(rig.count, i);
	}
	close_messages(&rig);
	tear_down(&rig);
}

static void messages_keep_their_bounds_and_end(void **state)
{
	uint8_t some[8];
	struct loop_rig rig;
	struct err err;
	int fd;

	(void)state;
	set_up(&rig);
	assert_int_equal(io_message_pair(rig.fds, NULL), 0);
	assert_int_equal(io_message_receive(rig.fds[0], some, 8, &fd, &err),
			 -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(err.number, EAGAIN);
	assert_int_equal(
		io_message_send(rig.fds[1], bytes_str("exactly8"), -1, &err),
		0);
	assert_int_equal(
		io_message_send(rig.fds[1], bytes_str("nine char"), -1, &err),
		0);
	assert_int_equal(io_message_receive(rig.fds[0], some, 8, &fd, &err), 8);
	assert_memory_equal(some, "exactly8", 8);
	assert_int_equal(io_message_receive(rig.fds[0], some, 8, &fd, &err),
			 -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	(void)close(rig.fds[1]);
	assert_int_equal(io_message_receive(rig.fds[0], some, 8, &fd, &err), 0);
	assert_int_equal(io_message_send(rig.fds[0], bytes_str("x"), -1, &err),
			 -1);
	assert_int_equal(err.number, EPIPE);
	(void)close(rig.fds[0]);
	tear_down(&rig);
}

static void message_carries_a_descriptor_that_works(void **state)
{
	uint8_t some[8];
	struct loop_rig rig;
	struct err err;
	int pair[2];
	int fd;

	(void)state;
	set_up(&rig);
	ends_pair(pair);
	assert_int_equal(io_message_pair(rig.fds, NULL), 0);
	assert_int_equal(
		io_message_send(rig.fds[0], bytes_str("fd"), pair[0], &err), 0);
	(void)close(pair[0]);
	assert_int_equal(io_message_receive(rig.fds[1], some, 8, &fd, &err), 2);
	assert_true(fd >= 0);
	assert_false(ends_is_ended(pair[1]));
	(void)close(fd);
	assert_true(ends_is_ended(pair[1]));
	close_messages(&rig);
	tear_down(&rig);
}

static void descriptor_of_a_cut_message_is_closed(void **state)
{
	uint8_t some[1];
	struct loop_rig rig;
	struct err err;
	int pair[2];
	int fd;

	(void)state;
	set_up(&rig);
	ends_pair(pair);
	assert_int_equal(io_message_pair(rig.fds, NULL), 0);
	assert_int_equal(
		io_message_send(rig.fds[0], bytes_str("fd"), pair[0], &err), 0);
	(void)close(pair[0]);
	assert_int_equal(io_message_receive(rig.fds[1], some, 1, &fd, &err),
			 -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_int_equal(fd, -1);
	assert_true(ends_is_ended(pair[1]));
	close_messages(&rig);
	tear_down(&rig);
}

/* ---- listeners ---- */

static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	struct loop_rig *rig = owner;

	assert_int_equal(peer->ss_family, AF_INET);
	rig->original = *original;
	rig->was_redirected = was_redirected;
	assert_true(rig->count < 8);
	rig->fds[rig->count++] = fd;
	if (rig->is_again)
		return;
	io_listener_free(rig->listener);
	rig->listener = NULL;
}

static void close_accepted(struct loop_rig *rig)
{
	for (unsigned i = 0; i < rig->count; i++)
		(void)close(rig->fds[i]);
	io_listener_free(rig->listener);
}

static void listener_accepts_pauses_and_goes_on(void **state)
{
	struct loop_rig rig;
	int fd = ends_listener();

	(void)state;
	set_up(&rig);
	rig.is_again = true;
	rig.listener = io_listen(rig.loop, fd, on_accept, &rig, NULL);
	(void)ends_connect(fd);
	(void)ends_connect(fd);
	ends_run(rig.loop);
	assert_int_equal(rig.count, 2);
	assert_false(rig.was_redirected);
	assert_int_equal(rig.original.ss_family, AF_INET);
	io_listener_pause(rig.listener, true);
	(void)ends_connect(fd);
	ends_run(rig.loop);
	assert_int_equal(rig.count, 2);
	io_listener_pause(rig.listener, false);
	ends_run(rig.loop);
	assert_int_equal(rig.count, 3);
	close_accepted(&rig);
	tear_down(&rig);
}

static void listener_can_be_freed_while_it_accepts(void **state)
{
	struct loop_rig rig;
	int fd = ends_listener();

	(void)state;
	set_up(&rig);
	rig.listener = io_listen(rig.loop, fd, on_accept, &rig, NULL);
	(void)ends_connect(fd);
	(void)ends_connect(fd);
	ends_run(rig.loop);
	assert_int_equal(rig.count, 1);
	close_accepted(&rig);
	tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timer_is_one_shot_and_can_be_set_again),
		cmocka_unit_test(timers_fire_in_the_order_of_their_times),
		cmocka_unit_test(
			deferred_call_comes_once_at_the_end_of_the_turn),
		cmocka_unit_test(run_ends_at_stop),
		cmocka_unit_test(clock_moves_with_the_time_that_passes),
		cmocka_unit_test(watch_calls_while_readable_and_not_after_free),
		cmocka_unit_test(turn_is_one_round),
		cmocka_unit_test(messages_keep_their_bounds_and_end),
		cmocka_unit_test(message_carries_a_descriptor_that_works),
		cmocka_unit_test(descriptor_of_a_cut_message_is_closed),
		cmocka_unit_test(listener_accepts_pauses_and_goes_on),
		cmocka_unit_test(listener_can_be_freed_while_it_accepts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
