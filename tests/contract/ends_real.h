/* ends.h on the kernel's sockets. */
#ifndef CONTRACT_ENDS_REAL_H
#define CONTRACT_ENDS_REAL_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/io_core.h"

#define ENDS_MAX      64
#define ENDS_BUF_MAX  (64 << 20)
#define ENDS_QUIET_MS 3

struct ends_side {
	int fd;
	bool is_ended;
	struct buf got;
};

static struct ends_side ends_sides[ENDS_MAX];
static size_t ends_count;

static struct ends_side *ends_add(int fd)
{
	struct ends_side *side = &ends_sides[ends_count++];

	assert_true(ends_count <= ENDS_MAX);
	side->fd = fd;
	side->is_ended = false;
	buf_init(&side->got, ENDS_BUF_MAX);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return side;
}

static struct ends_side *ends_find(int fd)
{
	for (size_t i = 0; i < ends_count; i++) {
		if (ends_sides[i].fd == fd)
			return &ends_sides[i];
	}
	fail_msg("no such side: %d", fd);
	return &ends_sides[0];
}

int ends_listener(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(fd, 128), 0);
	return fd;
}

int ends_connect(int listener)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(
		getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ends_add(fd);
	return fd;
}

void ends_pair(int fds[2])
{
	int listener = ends_listener();

	fds[1] = ends_connect(listener);
	fds[0] = accept(listener, NULL, NULL);
	assert_true(fds[0] >= 0);
	(void)close(listener);
}

void ends_pair_inner(int fds[2], size_t len, size_t chunk)
{
	int size = (int)len;

	(void)chunk; /* the kernel has no such thing */
	assert_int_equal(io_stream_pair(fds, NULL), 0);
	for (int i = 0; len > 0 && i < 2; i++)
		assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF,
					    &size, sizeof(size)),
				 0);
}

static void ends_pump(struct ends_side *side)
{
	uint8_t some[65536];
	ssize_t n = 1;

	while (n > 0 && !side->is_ended) {
		n = read(side->fd, some, sizeof(some));
		if (n > 0)
			assert_int_equal(
				buf_add(&side->got, bytes_from(some, n)), 0);
		side->is_ended = n == 0 || (n < 0 && errno != EAGAIN);
	}
}

void ends_send(int fd, struct bytes bytes)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};

	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.data, bytes.len);

		if (n < 0)
			assert_int_equal(poll(&ready, 1, 1000), 1);
		else
			bytes = bytes_slice(bytes, (size_t)n, bytes.len);
	}
}

struct buf *ends_received(int fd)
{
	struct ends_side *side = ends_find(fd);

	ends_pump(side);
	return &side->got;
}

bool ends_is_ended(int fd)
{
	struct ends_side *side = ends_find(fd);

	ends_pump(side);
	return side->is_ended;
}

void ends_end(int fd)
{
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
}

void ends_close(int fd)
{
	struct ends_side *side = ends_find(fd);

	(void)close(side->fd);
	buf_release(&side->got);
	*side = ends_sides[--ends_count];
}

void ends_reset(int fd)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)),
		0);
	ends_close(fd);
}

void ends_pair_narrow(int fds[2], size_t len)
{
	ends_pair_inner(fds, len, 0);
	ends_add(fds[1]);
}

void ends_run(struct io_loop *loop)
{
	uint64_t before;

	do {
		before = loop->activity;
		assert_int_equal(io_loop_turn(loop, ENDS_QUIET_MS, NULL), 0);
		assert_int_equal(io_loop_turn(loop, ENDS_QUIET_MS, NULL), 0);
	} while (loop->activity != before);
}

void ends_advance(struct io_loop *loop, unsigned ms)
{
	uint64_t until = clock_monotonic_ms() + ms + 1;
	unsigned more = 16; /* turns, however few there was time for */
	bool waits;

	while ((waits = clock_monotonic_ms() < until) || more-- > 0)
		assert_int_equal(io_loop_turn(loop, waits, NULL), 0);
}

void ends_finish(void)
{
	while (ends_count > 0)
		ends_close(ends_sides[0].fd);
}

#endif
