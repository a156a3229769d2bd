#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/dialer/connect.h"
#include "tests/unit/gateway/dialer/patience.h"

static struct io_loop *loop;

static int setup(void **state)
{
	struct err err;

	(void)state;
	loop = io_loop_new(&err);
	return loop ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	io_loop_free(loop);
	return 0;
}

struct outcome {
	int calls;
	int fd;
	int error;
	bool is_late;
	union address address;
};

static void on_connected(struct connected *connected, void *owner)
{
	struct outcome *outcome = owner;

	outcome->calls++;
	outcome->address = *connected->address;
	outcome->error = connected->error;
	outcome->is_late = connected->is_late;
	outcome->fd = take_fd(&connected->fd);
}

static struct patience patience;

static void wait_for(struct outcome *outcome, unsigned ms)
{
	uint64_t end = patience_ms(&patience) + ms;

	while (!outcome->calls && patience_ms(&patience) < end)
		patience_turn(&patience, loop);
	assert_int_equal(outcome->calls, 1);
}

/* A socket on loopback, and its address: it refuses, and nobody else gets its
 * port. */
static int refuser(union address *address)
{
	socklen_t len = sizeof(address->v4);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_true(address_parse(bytes_str("127.0.0.1"), address));
	assert_int_equal(bind(fd, &address->any, len), 0);
	assert_int_equal(getsockname(fd, &address->any, &len), 0);
	return fd;
}

static int listener(union address *address, int backlog)
{
	int fd = refuser(address);

	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

/* Where nobody answers: a listener whose queue is full. */
struct black_hole {
	int fds[8];
};

static void black_hole_open(struct black_hole *hole, union address *address)
{
	hole->fds[0] = listener(address, 0);
	for (size_t i = 1; i < ARRAY_SIZE(hole->fds); i++) {
		hole->fds[i] = socket(
			AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(hole->fds[i], &address->any,
			      address_len(address));
	}
}

static void black_hole_close(struct black_hole *hole)
{
	for (size_t i = 0; i < ARRAY_SIZE(hole->fds); i++)
		(void)close(hole->fds[i]);
}

static void connect_makes_a_connection_that_is_ready_to_use(void **state)
{
	struct outcome outcome = {.fd = -1};
	union address address;
	auto_fd int fd = listener(&address, 8);
	auto_fd int accepted = -1;
	int on = 0;
	socklen_t len = sizeof(on);

	(void)state;
	assert_non_null(
		connect_begin(loop, &address, 1, on_connected, &outcome));
	assert_int_equal(outcome.calls, 0);
	wait_for(&outcome, 1000);
	assert_true(outcome.fd >= 0);
	assert_true(address_equal(&outcome.address, &address));
	assert_true(fcntl(outcome.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(outcome.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(
		getsockopt(outcome.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	assert_true(on);
	accepted = accept(fd, NULL, NULL);
	assert_int_equal(write(outcome.fd, "x", 1), 1);
	assert_int_equal(read(accepted, &on, 1), 1);
	(void)close(outcome.fd);
}

static void connect_goes_on_to_the_next_address_when_one_refuses(void **state)
{
	struct outcome outcome = {.fd = -1};
	union address addresses[2];
	auto_fd int fd = listener(&addresses[1], 8);
	auto_fd int nobody = refuser(&addresses[0]);

	(void)state;
	assert_non_null(
		connect_begin(loop, addresses, 2, on_connected, &outcome));
	wait_for(&outcome, 1000);
	assert_true(outcome.fd >= 0);
	assert_int_equal(outcome.address.v4.sin_port, addresses[1].v4.sin_port);
	(void)close(outcome.fd);
}

static void connect_says_when_all_refuse(void **state)
{
	struct outcome outcome = {.fd = -1};
	union address addresses[2];
	auto_fd int nobody = refuser(&addresses[0]);

	(void)state;
	addresses[1] = addresses[0];
	assert_non_null(
		connect_begin(loop, addresses, 2, on_connected, &outcome));
	assert_int_equal(outcome.calls, 0);
	wait_for(&outcome, 1000);
	assert_int_equal(outcome.fd, -1);
	assert_int_equal(outcome.error, ECONNREFUSED);
	assert_false(outcome.is_late);
}

static void connect_does_not_wait_for_one_that_is_silent(void **state)
{
	struct outcome outcome = {.fd = -1};
	union address addresses[2];
	auto_fd int fd = listener(&addresses[1], 8);
	struct black_hole hole;

	(void)state;
	black_hole_open(&hole, &addresses[0]);
	patience = patience_begin();
	assert_non_null(
		connect_begin(loop, addresses, 2, on_connected, &outcome));
	wait_for(&outcome, 2000);
	assert_true(patience_real_ms(&patience) >= CONNECT_STAGGER_MS - 50);
	assert_true(patience_ms(&patience) <= CONNECT_STAGGER_MS + 700);
	assert_true(outcome.fd >= 0);
	assert_int_equal(outcome.address.v4.sin_port, addresses[1].v4.sin_port);
	(void)close(outcome.fd);
	black_hole_close(&hole);
}

static void connect_gives_up_when_nobody_answers(void **state)
{
	struct outcome outcome = {.fd = -1};
	struct black_hole hole;
	union address address;

	(void)state;
	black_hole_open(&hole, &address);
	patience = patience_begin();
	assert_non_null(
		connect_begin(loop, &address, 1, on_connected, &outcome));
	wait_for(&outcome, CONNECT_TOTAL_MS + 2000);
	assert_true(patience_real_ms(&patience) >= CONNECT_TOTAL_MS - 100);
	assert_true(patience_ms(&patience) <= CONNECT_TOTAL_MS + 1500);
	assert_int_equal(outcome.fd, -1);
	assert_true(outcome.is_late);
	black_hole_close(&hole);
}

static void connect_calls_nobody_after_it_was_cancelled(void **state)
{
	struct outcome outcome = {.fd = -1};
	union address address;
	auto_fd int fd = listener(&address, 8);
	struct connecting *connecting =
		connect_begin(loop, &address, 1, on_connected, &outcome);
	struct err err;

	(void)state;
	assert_non_null(connecting);
	connect_cancel(connecting);
	for (int i = 0; i < 5; i++)
		assert_int_equal(io_loop_turn(loop, 5, &err), 0);
	assert_int_equal(outcome.calls, 0);
}

#define CONNECT_TEST(test)                                                     \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONNECT_TEST(connect_makes_a_connection_that_is_ready_to_use),
		CONNECT_TEST(
			connect_goes_on_to_the_next_address_when_one_refuses),
		CONNECT_TEST(connect_says_when_all_refuse),
		CONNECT_TEST(connect_does_not_wait_for_one_that_is_silent),
		CONNECT_TEST(connect_gives_up_when_nobody_answers),
		CONNECT_TEST(connect_calls_nobody_after_it_was_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
