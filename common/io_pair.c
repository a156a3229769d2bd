#include "common/io_pair.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/io_core.h"

/* One end's half. */
struct io_pair {
	struct io *peer;  /* NULL: closed */
	struct buf queue; /* for this end to read */
	bool is_ended;	  /* nothing follows the queue */
};

/* It has something to read, later in this turn or in the next. */
static void wake_reader(struct io *io)
{
	io->owes_read = true;
	io_owe(io);
}

/* It may write again, once the outermost callback returns. */
static void wake_writer(struct io *io)
{
	if (io->was_blocked)
		io_flush_later(io);
}

static ssize_t pair_read(struct io *io, uint8_t *out, size_t size)
{
	struct io_pair *half = io->pair;
	struct bytes front = bytes_slice(buf_view(&half->queue), 0, size);

	if (front.len == 0)
		return half->is_ended ? IO_ENDED : IO_AGAIN;
	memcpy(out, front.data, front.len);
	buf_consume(&half->queue, front.len);
	io_buf_settle(io->loop, &half->queue);
	if (half->peer)
		wake_writer(half->peer);
	return (ssize_t)front.len;
}

static ssize_t pair_write(struct io *io, struct bytes bytes, struct bytes then)
{
	struct io *peer = io->pair->peer;

	(void)then;
	if (!peer) {
		errno = EPIPE;
		io_kill_of_errno(io, "write");
		return IO_DEAD;
	}
	bytes = bytes_slice(bytes, 0, buf_room(&peer->pair->queue));
	if (bytes.len == 0)
		return IO_AGAIN;
	io_buf_warm(io->loop, &peer->pair->queue, bytes.len);
	if (buf_add(&peer->pair->queue, bytes) < 0) {
		io_kill_of_errno(io, "write");
		return IO_DEAD;
	}
	wake_reader(peer);
	return (ssize_t)bytes.len;
}

static int pair_end(struct io *io)
{
	struct io *peer = io->pair->peer;

	if (peer) {
		peer->pair->is_ended = true;
		wake_reader(peer);
	}
	return IO_ENDED;
}

static int pair_shake(struct io *io)
{
	(void)io;
	return IO_ENDED;
}

static bool pair_has_pending(const struct io *io)
{
	return buf_len(&io->pair->queue) > 0 || io->pair->is_ended;
}

static void pair_close(struct io *io)
{
	struct io *peer = io->pair->peer;

	if (!peer)
		return;
	(void)pair_end(io);
	peer->pair->peer = NULL;
	io->pair->peer = NULL;
	peer->owes_drained = true;
	wake_writer(peer);
}

static void pair_release(struct io *io)
{
	buf_clear(&io->pair->queue);
	io_buf_settle(io->loop, &io->pair->queue);
	free(io->pair);
}

static const struct io_layer layer = {
	.read = pair_read,
	.write = pair_write,
	.end = pair_end,
	.shake = pair_shake,
	.has_pending = pair_has_pending,
	.close = pair_close,
	.release = pair_release,
};

static void no_owner(struct io *io, enum io_event event, void *owner)
{
	(void)io;
	(void)event;
	(void)owner;
}

static struct io *end_new(struct io_loop *loop, const struct io_limits *limits)
{
	struct io_pair *half = calloc(1, sizeof(*half));
	struct io *io =
		half ? io_new_without_fd(loop, limits, no_owner, NULL) : NULL;

	if (!io) {
		free(half);
		return NULL;
	}
	buf_init(&half->queue, IO_PAIR_QUEUE);
	io->pair = half;
	io->layer = &layer;
	return io;
}

int io_pair_new(struct io_loop *loop, const struct io_limits limits[2],
		struct io *ends[2])
{
	ends[0] = end_new(loop, &limits[0]);
	if (!ends[0])
		return -1;
	ends[1] = end_new(loop, &limits[1]);
	if (!ends[1]) {
		io_close(ends[0]);
		return -1;
	}
	ends[0]->pair->peer = ends[1];
	ends[1]->pair->peer = ends[0];
	return 0;
}

bool io_pair_is_alone(const struct io *io)
{
	return !io->pair->peer;
}

void io_pair_abort(struct io *io, const struct err *why)
{
	struct io *peer;

	assert(io->pair);
	peer = io->is_closed ? NULL : io->pair->peer;
	if (peer && !peer->is_closed)
		io_kill(peer, why);
	io_close(io);
}
