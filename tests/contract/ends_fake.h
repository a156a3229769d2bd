/* ends.h on the fake backend. */
#ifndef CONTRACT_ENDS_FAKE_H
#define CONTRACT_ENDS_FAKE_H

#include <unistd.h>

#include "common/io_fake.h"

int ends_listener(void)
{
	return fake_listener();
}

int ends_connect(int listener)
{
	struct sockaddr_storage original = {.ss_family = AF_INET};

	return fake_connect(listener, &original, false);
}

void ends_pair(int fds[2])
{
	fake_stream_pair(fds);
}

void ends_pair_narrow(int fds[2], size_t len)
{
	fake_stream_pair(fds);
	fake_set_window(fds[1], len);
}

void ends_pair_inner(int fds[2], size_t len, size_t chunk)
{
	assert_int_equal(io_stream_pair(fds, NULL), 0);
	for (int i = 0; i < 2; i++) {
		fake_set_chunk(fds[i], chunk);
		if (len > 0)
			fake_set_window(fds[i], len);
	}
}

void ends_send(int fd, struct bytes bytes)
{
	fake_send(fd, bytes);
}

struct buf *ends_received(int fd)
{
	return fake_received(fd);
}

bool ends_is_ended(int fd)
{
	return fake_is_ended(fd);
}

void ends_end(int fd)
{
	fake_end(fd);
}

void ends_reset(int fd)
{
	fake_reset(fd);
}

void ends_close(int fd)
{
	(void)close(fd);
}

void ends_run(struct io_loop *loop)
{
	fake_run(loop);
}

void ends_advance(struct io_loop *loop, unsigned ms)
{
	fake_advance(loop, ms);
}

void ends_finish(void)
{
	fake_reset_all();
}

#endif
