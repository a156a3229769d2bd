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
	if (io->is_dead || (io->is_ended && io_discard(io))) {
		io_close(io);
	} else if (io->stalled_ms && buf_len(&io->out) == 0) {
		io->stalled_ms = 0;
		io_timer_set(&io->deadline, io->linger_ms);
	}
}

void io_linger_late(struct io *io)
{
	size_t left = buf_len(&io->out);

	if (io->stalled_ms == 0 || left >= io->linger_left) {
		io_close(io);
		return;
	}
	io->linger_left = left;
	io_timer_set(&io->deadline, io->stalled_ms);
}

static void io_hurry(struct io *io, unsigned linger_ms)
{
	if (io->stalled_ms == 0)
		return;
	io->stalled_ms = 0;
	if (linger_ms == 0)
		io_close(io);
	else
		io_timer_set(&io->deadline, linger_ms);
}

void io_close_flushed(struct io *io, unsigned linger_ms)
{
	if (io->is_closed)
		return;
	if (io->is_lingering) {
		io_hurry(io, linger_ms);
		return;
	}
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

void io_close_read(struct io *io, unsigned stalled_ms, unsigned linger_ms)
{
	bool was_lingering = io->is_lingering;

	io_close_flushed(io, linger_ms);
	if (was_lingering || io->is_closed || buf_len(&io->out) == 0)
		return;
	io->stalled_ms = stalled_ms;
	io->linger_ms = linger_ms;
	io->linger_left = buf_len(&io->out);
	io_timer_set(&io->deadline, stalled_ms);
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
