#include <assert.h>
#include <stdlib.h>

#include "common/io_core.h"

/* How an io ends: closed at once, after what is queued, or its descriptor
 * taken away. */

/* Bytes of a lingering peer that are thrown away in one go. */
#define IO_DISCARD_MAX (4 * IO_CHUNK)

static void io_retire(struct io *io)
{
	struct io_loop *loop = io->loop;

	io->is_closed = true;
	io_poll_free(io->poll);
	io->poll = NULL;
	io->layer->close(io);
	io_timer_detach(&io->deadline);
	if (io->is_stalled)
		TAILQ_REMOVE(&loop->stalled, io, stalled_link);
	if (io->is_unsent)
		TAILQ_REMOVE(&loop->unsent, io, unsent_link);
	io->is_stalled = io->is_unsent = false;
	TAILQ_REMOVE(&loop->open, io, open_link);
	TAILQ_INSERT_TAIL(&loop->released, io, open_link);
}

/* What an earlier callback wrote goes before this one ends the io: that it
 * still waits is nothing an owner need know. */
static void io_send_earlier(struct io *io)
{
	struct io_loop *loop = io->loop;

	if (!io->is_unsent || io->unsent_in == loop->callbacks)
		return;
	io->is_unsent = false;
	TAILQ_REMOVE(&loop->unsent, io, unsent_link);
	io_flush(io);
}

void io_close(struct io *io)
{
	if (!io->is_closed)
		io_send_earlier(io);
	if (io->is_closed)
		return;
	io_retire(io);
	if (io->fd >= 0)
		io_sys_close(io->fd);
	io->fd = -1;
}

int io_detach(struct io *io)
{
	int fd = io->fd;

	assert(!io->is_closed && !io->tls && !io->pair);
	io_send_earlier(io);
	io_retire(io);
	io->fd = -1;
	return fd;
}

void io_release(struct io *io)
{
	struct io_loop *loop = io->loop;

	TAILQ_REMOVE(&loop->released, io, open_link);
	if (io->is_owed)
		TAILQ_REMOVE(&loop->owed, io, owed_link);
	loop->activity++;
	io_loop_enter(loop);
	io->fn(io, IO_RELEASED, io->owner);
	io_loop_leave(loop);
	buf_clear(&io->in);
	buf_clear(&io->out);
	io_buf_settle(loop, &io->in);
	io_buf_settle(loop, &io->out);
	io->layer->release(io);
	free(io->error);
	dense_give(&io_places, io);
	io_rest_soon(loop);
}

/* True when the peer has nothing more to say. */
static bool io_discard(struct io *io)
{
	uint8_t waste[4096];
	size_t got = 0;

	/* No reset can overtake what a pair carries. */
	if (io->pair)
		return true;
	io->is_dry = false;
	while (got < IO_DISCARD_MAX) {
		ssize_t n = io_raw_read(io, waste, sizeof(waste));

		if (n == IO_AGAIN)
			return !io->is_discarding;
		if (n <= 0)
			return true;
		io->is_discarding = true;
		got += (size_t)n;
	}
	return false;
}

/* A close(2) with unread bytes makes the kernel send a reset, which may
 * overtake the answer that was just sent. So when the peer still sends, its
 * bytes are thrown away until it ends or the deadline passes. */
void io_linger(struct io *io)
{
	if (io->is_dead || (io->is_ended && io_discard(io)))
		io_close(io);
}

void io_close_flushed(struct io *io, unsigned linger_ms)
{
	if (io->is_closed || io->is_lingering)
		return;
	if (io->is_dead || io->is_shaking) {
		io_close(io);
		return;
	}
	io->is_lingering = true;
	io->is_reading = false;
	io->is_ending = true;
	io_timer_set(&io->deadline, linger_ms);
	io_flush(io);
	if (linger_ms == 0)
		io_close(io);
}

/* ---- what stands ---- */

const struct err *io_error(const struct io *io)
{
	static const struct err none;
	static const struct err unknown = {.code = ERR_CLOSED,
					   .text = "the connection failed"};

	if (!io->is_dead)
		return &none;
	return io->error ? io->error : &unknown;
}

int io_fd(const struct io *io)
{
	return io->fd;
}
