#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/io.h"

#define TURN_MS 20
#define WAIT_MS 250
#define LONG_MS 30000

struct rig {
	struct io_loop *loop;
	int accepted[16];
	unsigned count;
	struct io *io;
	bool has_ended;
};

static void set_up(struct rig *rig)
{
	*rig = (struct rig){.loop = io_loop_new(NULL)};
	assert_non_null(rig->loop);
}

static void turns(struct rig *rig, unsigned n)
{
	while (n-- > 0)
		assert_int_equal(io_loop_turn(rig->loop, TURN_MS, NULL), 0);
}

static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	struct rig *rig = owner;

	(void)peer;
	assert_int_equal(original->ss_family, AF_INET);
	assert_false(was_redirected);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	rig->accepted[rig->count++] = fd;
}

static int connect_to(int listener)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(
		getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int listening_socket(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* It must wait, not spin: turns that may wait do so, but for the few in which
 * it tries again. */
static void assert_rests(struct rig *rig)
{
	uint64_t before = clock_monotonic_ms();
	unsigned taken = 0;

	while (clock_monotonic_ms() - before < WAIT_MS) {
		turns(rig, 1);
		taken++;
	}
	assert_true(taken <= WAIT_MS / TURN_MS + 8);
	assert_int_equal(rig->count, 0);
}

static void listener_pauses_when_descriptors_run_out(void **state)
{
	struct io_listener *listener;
	struct rlimit limit;
	struct rlimit none;
	struct rig rig;
	uint64_t before;
	int client;
	int fd;

	(void)state;
	set_up(&rig);
	fd = listening_socket();
	listener = io_listen(rig.loop, fd, on_accept, &rig, NULL);
	client = connect_to(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)client + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_rests(&rig);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	before = clock_monotonic_ms();
	while (rig.count == 0 && clock_monotonic_ms() - before < LONG_MS)
		turns(&rig, 1);
	assert_int_equal(rig.count, 1);
	(void)close(rig.accepted[0]);
	(void)close(client);
	io_listener_free(listener);
	io_loop_free(rig.loop);
}

/* Whoever gave it to us has it as well. */
static void listener_rests_when_it_was_shut_down(void **state)
{
	struct io_listener *listener;
	struct rig rig;
	int fd;

	(void)state;
	set_up(&rig);
	fd = listening_socket();
	listener = io_listen(rig.loop, fd, on_accept, &rig, NULL);
	assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
	assert_rests(&rig);
	io_listener_free(listener);
	io_loop_free(rig.loop);
}

static void send_descriptors(int socket, int fd, int count)
{
	uint8_t control[CMSG_SPACE(4 * sizeof(int))] = {0};
	struct iovec part = {.iov_base = control, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	assert_non_null(header);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	for (int i = 0; i < count; i++)
		memcpy(CMSG_DATA(header) + (size_t)i * sizeof(int), &fd,
		       sizeof(fd));
	assert_int_equal(sendmsg(socket, &message, 0), 1);
}

static void more_than_one_descriptor_is_refused_and_closed(void **state)
{
	uint8_t some[8];
	int pipe_fds[2];
	int fds[2];

	(void)state;
	for (int count = 1; count <= 4; count++) {
		struct err err;
		int fd;

		assert_int_equal(io_message_pair(fds, NULL), 0);
		assert_int_equal(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
		send_descriptors(fds[1], pipe_fds[1], count);
		(void)close(pipe_fds[1]);
		if (count == 1) {
			assert_int_equal(
				io_message_receive(fds[0], some, 8, &fd, &err),
				1);
			assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC,
					 FD_CLOEXEC);
			assert_int_equal(read(pipe_fds[0], some, 1), -1);
			(void)close(fd);
		} else {
			assert_int_equal(
				io_message_receive(fds[0], some, 8, &fd, &err),
				-1);
			assert_int_equal(err.code, ERR_TOO_LARGE);
			assert_int_equal(fd, -1);
		}
		/* The pipe ends: nobody holds its other side any more. */
		assert_int_equal(read(pipe_fds[0], some, 1), 0);
		(void)close(pipe_fds[0]);
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct rig *rig = owner;

	(void)io;
	rig->count++;
	if (event == IO_EOF)
		rig->has_ended = true;
	if (event == IO_RELEASED)
		rig->io = NULL;
}

/* Another process may hold the same open file: what was detached or closed
 * here must be gone from epoll too, or it wakes this loop for ever. */
static void descriptor_that_lives_elsewhere_is_silent_after_close(void **state)
{
	static const struct io_limits limits = {64, 64, 64};

	(void)state;
	for (int detaches = 0; detaches < 2; detaches++) {
		struct rig rig;
		uint64_t before;
		int elsewhere;
		int fds[2];

		set_up(&rig);
		assert_int_equal(io_stream_pair(fds, NULL), 0);
		elsewhere = dup(fds[0]);
		rig.io = io_new(rig.loop, fds[0], &limits, on_event, &rig);
		io_read_start(rig.io);
		turns(&rig, 1);
		if (detaches)
			(void)close(io_detach(rig.io));
		else
			io_close(rig.io);
		turns(&rig, 1);
		assert_int_equal(rig.count, 1);
		assert_int_equal(write(fds[1], "x", 1), 1);
		before = clock_monotonic_ms();
		turns(&rig, 2);
		assert_true(clock_monotonic_ms() - before >= TURN_MS);
		(void)close(elsewhere);
		(void)close(fds[1]);
		io_loop_free(rig.loop);
	}
}

/* Reading is off and the peer is gone: nothing to do, so nothing wakes. */
static void hang_up_that_nobody_waits_for_does_not_spin(void **state)
{
	static const struct io_limits limits = {64, 64, 64};
	struct rig rig;
	uint64_t before;
	int fds[2];

	(void)state;
	set_up(&rig);
	assert_int_equal(io_stream_pair(fds, NULL), 0);
	rig.io = io_new(rig.loop, fds[0], &limits, on_event, &rig);
	io_read_start(rig.io);
	turns(&rig, 1);
	io_read_stop(rig.io);
	(void)close(fds[1]);
	turns(&rig, 1);
	before = clock_monotonic_ms();
	turns(&rig, 2);
	assert_true(clock_monotonic_ms() - before >= TURN_MS);
	assert_int_equal(rig.count, 0);
	io_read_start(rig.io);
	turns(&rig, 1);
	assert_true(rig.has_ended);
	io_loop_free(rig.loop);
}

static void pipes_serve_as_streams(void **state)
{
	static const struct io_limits limits = {64, 64, 64};
	struct rig reader;
	struct io *writer;
	struct rig rig;
	int fds[2];

	(void)state;
	set_up(&rig);
	reader = (struct rig){.loop = rig.loop};
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	reader.io = io_new(rig.loop, fds[0], &limits, on_event, &reader);
	writer = io_new(rig.loop, fds[1], &limits, on_event, &rig);
	io_read_start(reader.io);
	assert_int_equal(io_write(writer, bytes_str("through")), 0);
	io_close_flushed(writer, 1000);
	turns(&rig, 3);
	assert_true(reader.has_ended);
	assert_true(bytes_is(buf_view(io_in(reader.io)), "through"));
	io_loop_free(rig.loop);
}

static void write_to_a_closed_pipe_is_a_failure_not_a_signal(void **state)
{
	static const struct io_limits limits = {64, 64, 64};
	struct rig rig;
	int fds[2];

	(void)state;
	set_up(&rig);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	rig.io = io_new(rig.loop, fds[1], &limits, on_event, &rig);
	(void)close(fds[0]);
	assert_int_equal(io_write(rig.io, bytes_str("x")), -1);
	assert_int_equal(io_error(rig.io)->number, EPIPE);
	io_loop_free(rig.loop);
}

static void on_signal(void *owner)
{
	struct rig *rig = owner;

	rig->count++;
	io_loop_stop(rig->loop);
}

static void signal_calls_its_owner_in_a_turn(void **state)
{
	struct rig rig;

	(void)state;
	set_up(&rig);
	assert_int_equal(io_signal(rig.loop, SIGUSR1, on_signal, &rig), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(rig.count, 0);
	assert_int_equal(io_loop_run(rig.loop, NULL), 0);
	assert_int_equal(rig.count, 1);
	io_loop_free(rig.loop);
}

static void write_twice(void *owner)
{
	static const uint8_t block[20000];
	struct rig *rig = owner;

	assert_int_equal(io_write(rig->io, bytes_str("head")), 0);
	assert_int_equal(io_write(rig->io, bytes_from(block, sizeof(block))),
			 0);
}

/* A seqpacket keeps calls apart. */
static void large_write_and_what_is_queued_take_one_call(void **state)
{
	static const struct io_limits limits = {4096, 65536, 65536};
	uint8_t got[32768];
	struct rig rig;
	int fds[2];

	(void)state;
	set_up(&rig);
	assert_int_equal(io_message_pair(fds, NULL), 0);
	rig.io = io_new(rig.loop, fds[0], &limits, on_event, &rig);
	assert_non_null(rig.io);
	assert_int_equal(io_loop_defer(rig.loop, write_twice, &rig), 0);
	turns(&rig, 1);
	assert_int_equal(recv(fds[1], got, sizeof(got), 0), 20004);
	assert_memory_equal(got, "head", 4);
	assert_int_equal(recv(fds[1], got, sizeof(got), 0), -1);
	io_close(rig.io);
	io_loop_free(rig.loop);
	(void)close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listener_pauses_when_descriptors_run_out),
		cmocka_unit_test(listener_rests_when_it_was_shut_down),
		cmocka_unit_test(
			more_than_one_descriptor_is_refused_and_closed),
		cmocka_unit_test(
			descriptor_that_lives_elsewhere_is_silent_after_close),
		cmocka_unit_test(hang_up_that_nobody_waits_for_does_not_spin),
		cmocka_unit_test(pipes_serve_as_streams),
		cmocka_unit_test(
			write_to_a_closed_pipe_is_a_failure_not_a_signal),
		cmocka_unit_test(signal_calls_its_owner_in_a_turn),
		cmocka_unit_test(large_write_and_what_is_queued_take_one_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
