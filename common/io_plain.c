#include <errno.h>

#include "common/io_core.h"

static bool is_blocked(int number)
{
	return number == EAGAIN || number == EINTR;
}

ssize_t io_raw_read(struct io *io, void *out, size_t size)
{
	ssize_t n;

	if (io->is_dry)
		return IO_AGAIN;
	n = io_sys_read(io->fd, out, size);
	if (n < 0)
		return is_blocked(errno) ? IO_AGAIN : IO_DEAD;
	/* A short read emptied the socket; the backend will say when there
	 * is more, so that nobody needs a second call to learn it. */
	if (n > 0 && (size_t)n < size)
		io->is_dry = true;
	return n;
}

ssize_t io_raw_write(struct io *io, struct bytes bytes, struct bytes then,
		     bool has_more)
{
	ssize_t n = io_sys_write(io->fd, bytes, then, has_more);

	if (n < 0)
		return is_blocked(errno) ? IO_AGAIN : IO_DEAD;
	return n;
}

static ssize_t plain_read(struct io *io, uint8_t *out, size_t size)
{
	ssize_t n = io_raw_read(io, out, size);

	if (n == IO_DEAD)
		io_kill_of_errno(io, "read");
	return n;
}

static ssize_t plain_write(struct io *io, struct bytes bytes, struct bytes then)
{
	ssize_t n = io_raw_write(io, bytes, then, false);

	if (n == IO_DEAD)
		io_kill_of_errno(io, "write");
	return n;
}

static int plain_end(struct io *io)
{
	if (io_sys_shutdown(io->fd) == 0 || errno == ENOTSOCK ||
	    errno == ENOTCONN)
		return IO_ENDED;
	io_kill_of_errno(io, "shut down");
	return IO_DEAD;
}

static int plain_shake(struct io *io)
{
	(void)io;
	return IO_ENDED;
}

static bool plain_has_pending(const struct io *io)
{
	(void)io;
	return false;
}

static void plain_close(struct io *io)
{
	(void)io;
}

static void plain_release(struct io *io)
{
	(void)io;
}

const struct io_layer io_layer_plain = {
	.read = plain_read,
	.write = plain_write,
	.end = plain_end,
	.shake = plain_shake,
	.has_pending = plain_has_pending,
	.close = plain_close,
	.release = plain_release,
};
