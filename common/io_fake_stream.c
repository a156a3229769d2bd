#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/io_fake_core.h"

static int fail(int number)
{
	errno = number;
	return -1;
}

/* ---- what the code under test calls ---- */

ssize_t io_sys_read(int fd, void *out, size_t size)
{
	struct fake_file *file = fake_file(fd);
	struct bytes head;

	if (!file || file->kind != FAKE_STREAM)
		return fail(EBADF);
	if (file->chunk > 0 && size > file->chunk)
		size = file->chunk;
	head = bytes_slice(buf_view(&file->in), 0, size);
	if (head.len > 0) {
		memcpy(out, head.data, head.len);
		buf_consume(&file->in, head.len);
		return (ssize_t)head.len;
	}
	if (file->is_reset)
		return fail(ECONNRESET);
	return file->is_ended ? 0 : fail(EAGAIN);
}

static ssize_t write_one(int fd, struct bytes bytes)
{
	struct fake_file *file = fake_file(fd);
	struct fake_file *peer;
	size_t held;

	if (!file || file->kind != FAKE_STREAM)
		return fail(EBADF);
	peer = file->peer;
	if (file->is_reset)
		return fail(ECONNRESET);
	if (peer->refs == 0 || peer->is_ended)
		return fail(EPIPE);
	held = buf_len(&peer->in);
	if (held >= peer->window)
		return fail(EAGAIN);
	bytes = bytes_slice(bytes, 0, peer->window - held);
	if (buf_add(&peer->in, bytes) < 0)
		return fail(ENOBUFS);
	return (ssize_t)bytes.len;
}

ssize_t io_sys_write(int fd, struct bytes bytes, struct bytes then,
		     bool has_more)
{
	ssize_t first = write_one(fd, bytes);
	ssize_t second;

	(void)has_more;
	if (first < (ssize_t)bytes.len || then.len == 0)
		return first;
	second = write_one(fd, then);
	return second < 0 ? first : first + second;
}

int io_sys_shutdown(int fd)
{
	struct fake_file *file = fake_file(fd);

	if (!file || file->kind != FAKE_STREAM)
		return fail(ENOTSOCK);
	file->peer->is_ended = true;
	return 0;
}

int io_sys_accept(int listener, struct io_accepted *out)
{
	struct fake_file *file = fake_file(listener);
	struct fake_caller *caller = file ? TAILQ_FIRST(&file->callers) : NULL;

	if (!caller)
		return fail(EAGAIN);
	TAILQ_REMOVE(&file->callers, caller, link);
	*out = caller->accepted;
	free(caller);
	return 0;
}

int io_stream_pair(int fds[2], struct err *err)
{
	(void)err;
	fds[0] = fake_file_new(FAKE_STREAM);
	fds[1] = fake_file_new(FAKE_STREAM);
	fake_join(fds[0], fds[1]);
	return 0;
}

/* ---- what the test calls ---- */

static struct fake_file *stream_of(int fd)
{
	struct fake_file *file = fake_file(fd);

	assert(file && file->kind == FAKE_STREAM);
	return file;
}

void fake_stream_pair(int fds[2])
{
	(void)io_stream_pair(fds, NULL);
	stream_of(fds[1])->is_of_test = true;
}

void fake_send(int fd, struct bytes bytes)
{
	int result = buf_add(&stream_of(fd)->peer->in, bytes);

	assert(result == 0);
}

void fake_set_chunk(int fd, size_t n)
{
	stream_of(fd)->peer->chunk = n;
}

void fake_end(int fd)
{
	stream_of(fd)->peer->is_ended = true;
}

void fake_reset(int fd)
{
	stream_of(fd)->peer->is_reset = true;
}

void fake_set_window(int fd, size_t n)
{
	stream_of(fd)->window = n;
}

struct buf *fake_received(int fd)
{
	return &stream_of(fd)->in;
}

bool fake_is_ended(int fd)
{
	return stream_of(fd)->is_ended;
}

bool fake_is_closed(int fd)
{
	return stream_of(fd)->peer->refs == 0;
}

int fake_listener(void)
{
	return fake_file_new(FAKE_LISTENER);
}

int fake_connect(int listener, const struct sockaddr_storage *original,
		 bool was_redirected)
{
	struct fake_file *file = fake_file(listener);
	struct fake_caller *caller = calloc(1, sizeof(*caller));
	struct sockaddr_in *peer;
	int fds[2];

	assert(file && file->kind == FAKE_LISTENER && caller);
	fake_stream_pair(fds);
	caller->accepted.fd = fds[0];
	if (original)
		caller->accepted.original = *original;
	caller->accepted.was_redirected = was_redirected;
	peer = (struct sockaddr_in *)&caller->accepted.peer;
	peer->sin_family = AF_INET;
	peer->sin_port = htons(40000);
	peer->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	TAILQ_INSERT_TAIL(&file->callers, caller, link);
	return fds[1];
}
