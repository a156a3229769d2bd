#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/io_core.h"

/* Sent straight from the caller's memory instead of through the queue. */
#define IO_DIRECT_MIN 16384
/* With less room left in a block, reading goes on in another. */
#define IO_ROOM_MIN 4096

struct dense io_places = {.size = sizeof(struct io)};

static void io_on_ready(unsigned ready, void *owner);
static void io_on_deadline(void *owner);

struct io *io_new_without_fd(struct io_loop *loop,
			     const struct io_limits *limits, io_fn *fn,
			     void *owner)
{
	struct io *io = dense_take(&io_places, sizeof(*io));

	assert(limits->in_max > 0 && limits->out_high <= UINT32_MAX && fn);
	if (!io || io_timer_attach(&io->deadline, loop, io_on_deadline, io)) {
		dense_give(&io_places, io);
		return NULL;
	}
	io->loop = loop;
	io->layer = &io_layer_plain;
	io->fn = fn;
	io->owner = owner;
	io->fd = -1;
	io->out_high = (uint32_t)limits->out_high;
	buf_init(&io->in, limits->in_max);
	buf_init(&io->out, limits->out_max);
	TAILQ_INSERT_TAIL(&loop->open, io, open_link);
	return io;
}

struct io *io_new(struct io_loop *loop, int fd, const struct io_limits *limits,
		  io_fn *fn, void *owner)
{
	struct io *io = io_new_without_fd(loop, limits, fn, owner);

	if (!io) {
		io_sys_close(fd);
		return NULL;
	}
	io->poll = io_poll_new(loop->backend, fd, io_on_ready, io);
	if (!io->poll || io_sys_prepare(fd) < 0) {
		io_poll_free(io->poll);
		io_sys_close(fd);
		io_timer_detach(&io->deadline);
		TAILQ_REMOVE(&loop->open, io, open_link);
		dense_give(&io_places, io);
		return NULL;
	}
	io->fd = fd;
	io->read_needs = IO_READABLE;
	io->write_needs = IO_WRITABLE;
	return io;
}

void io_set_owner(struct io *io, io_fn *fn, void *owner)
{
	io->fn = fn;
	io->owner = owner;
}

static void io_deliver(struct io *io, enum io_event event)
{
	if (io->is_closed || io->is_lingering)
		return;
	io->fn(io, event, io->owner);
}

void io_owe(struct io *io)
{
	if (io->is_owed)
		return;
	io->is_owed = true;
	TAILQ_INSERT_TAIL(&io->loop->owed, io, owed_link);
}

void io_kill(struct io *io, const struct err *why)
{
	if (io->is_dead)
		return;
	io->is_dead = true;
	io->error = malloc(sizeof(*io->error));
	if (io->error)
		*io->error = *why;
	buf_release(&io->out);
	io->owes_failed = true;
	io_owe(io);
}

/* ---- what the descriptor is asked for ---- */

static bool io_wants_read(const struct io *io)
{
	if (io->is_lingering)
		return io->is_discarding;
	return io->is_reading && !io->is_eof && buf_room(&io->in) > 0;
}

static bool io_wants_write(const struct io *io)
{
	return io->was_blocked;
}

static unsigned io_wanted(const struct io *io)
{
	unsigned wanted = 0;

	if (io->is_dead)
		return 0;
	if (io->is_shaking)
		return io->shake_needs;
	if (io_wants_read(io))
		wanted |= io->read_needs;
	if (io_wants_write(io))
		wanted |= io->write_needs;
	return wanted;
}

void io_kill_of_errno(struct io *io, const char *what)
{
	struct err err;

	err_system(&err, "%s", what);
	io_kill(io, &err);
}

/* Tell the backend. Interest in reading is dropped only when the descriptor
 * is ready and nobody wants it: whoever stops and starts between two
 * requests makes no system call. */
static void io_update(struct io *io, unsigned ready)
{
	unsigned wanted = io_wanted(io);
	unsigned armed = (io->armed | wanted) & ~(ready & ~wanted);

	if (io->is_closed || !io->poll)
		return;
	armed &= ~IO_WRITABLE | wanted;
	if (io->is_dead)
		armed = 0;
	if (armed == io->armed)
		return;
	if (io_poll_set(io->poll, armed) < 0) {
		io_kill_of_errno(io, "wait for a descriptor");
		return;
	}
	io->armed = armed & (IO_READABLE | IO_WRITABLE);
}

/* ---- reading ---- */

static void io_stall(struct io *io)
{
	if (io->is_stalled)
		return;
	io->is_stalled = true;
	TAILQ_INSERT_TAIL(&io->loop->stalled, io, stalled_link);
}

static void io_unstall(struct io *io)
{
	if (!io->is_stalled)
		return;
	io->is_stalled = false;
	TAILQ_REMOVE(&io->loop->stalled, io, stalled_link);
}

void io_resume_stalled(struct io_loop *loop)
{
	struct io *io = TAILQ_FIRST(&loop->stalled);

	while (io) {
		struct io *next = TAILQ_NEXT(io, stalled_link);

		if (!io->is_reading || buf_room(&io->in) > 0) {
			io_unstall(io);
			io->owes_read = true;
			io_owe(io);
		}
		io = next;
	}
}

/* Read what is there, at most a chunk and not more than fits the memory that
 * the first bytes needed: the last result of the layer. */
static ssize_t io_fill(struct io *io)
{
	size_t got = 0;

	io->is_dry = false;
	while (got < IO_CHUNK && buf_room(&io->in) > 0) {
		size_t size;
		uint8_t *to = io_buf_space(io->loop, &io->in, &size);
		ssize_t n;

		if (!to) {
			io_kill_of_errno(io, "make room to read");
			return IO_DEAD;
		}
		n = io->layer->read(io, to, size);
		if (n <= 0)
			return n;
		buf_commit(&io->in, (size_t)n);
		got += (size_t)n;
		if (io->in.size - io->in.end < IO_ROOM_MIN)
			break;
	}
	return (ssize_t)got;
}

static void io_read(struct io *io)
{
	size_t before = buf_len(&io->in);
	ssize_t n = io_fill(io);

	if (buf_len(&io->in) > before)
		io_deliver(io, IO_DATA);
	if (n == IO_ENDED && io->is_reading && !io->is_closed) {
		io->is_eof = true;
		io_deliver(io, IO_EOF);
	}
	if (io->is_closed)
		return;
	io_buf_settle(io->loop, &io->in);
	if (!io->is_reading || io->is_eof)
		return;
	if (buf_room(&io->in) == 0) {
		io_stall(io);
	} else if (n > 0 && io->layer->has_pending(io)) {
		io->owes_read = true;
		io_owe(io);
	}
}

void io_read_start(struct io *io)
{
	if (io->is_closed || io->is_reading || io->is_lingering)
		return;
	io->is_reading = true;
	if (io->is_dead || io->is_eof)
		return;
	if (buf_room(&io->in) == 0) {
		io_stall(io);
	} else if (!io->is_shaking && io->layer->has_pending(io)) {
		io->owes_read = true;
		io_owe(io);
	}
	io_update(io, 0);
}

void io_read_stop(struct io *io)
{
	io->is_reading = false;
}

struct buf *io_in(struct io *io)
{
	return &io->in;
}

/* ---- writing ---- */

/* Send from bytes, and then from `then`, what goes; how much that was. */
static size_t io_send(struct io *io, struct bytes bytes, struct bytes then)
{
	size_t sent = 0;

	while (bytes.len + then.len > 0) {
		size_t first;
		ssize_t n;

		if (bytes.len == 0) {
			bytes = then;
			then = bytes_from(NULL, 0);
		}
		n = io->layer->write(io, bytes, then);
		if (n < 0) {
			io->owes_rest = n == IO_DEAD;
			io->was_blocked = n == IO_AGAIN;
			return sent;
		}
		sent += (size_t)n;
		first = (size_t)n < bytes.len ? (size_t)n : bytes.len;
		bytes = bytes_slice(bytes, first, bytes.len);
		then = bytes_slice(then, (size_t)n - first, then.len);
	}
	io->was_blocked = false;
	return sent;
}

static void io_carry_out_end(struct io *io)
{
	int result = io->layer->end(io);

	io->is_ended = result == IO_ENDED;
	io->was_blocked = result == IO_AGAIN;
}

void io_flush(struct io *io)
{
	size_t sent;

	if (io->is_closed || io->is_dead || io->is_shaking)
		return;
	sent = io_send(io, buf_view(&io->out), bytes_from(NULL, 0));
	if (!io->is_dead) {
		buf_consume(&io->out, sent);
		io_buf_settle(io->loop, &io->out);
	}
	if (!io->is_dead && buf_len(&io->out) == 0) {
		if (io->is_ending && !io->is_ended)
			io_carry_out_end(io);
		if (io->owes_drained)
			io_owe(io);
	} else {
		io->owes_drained = true;
	}
	if (io->is_lingering)
		io_linger(io);
	io_update(io, 0);
}

void io_flush_later(struct io *io)
{
	if (io->is_unsent)
		return;
	io->is_unsent = true;
	io->unsent_in = io->loop->callbacks;
	TAILQ_INSERT_TAIL(&io->loop->unsent, io, unsent_link);
}

static void io_flush_soon(struct io *io)
{
	if (io->is_shaking || io->was_blocked)
		return;
	if (io->loop->depth == 0)
		io_flush(io);
	else
		io_flush_later(io);
}

/* Send a large write without copying it, behind what is queued: what is left,
 * or -1. */
static int io_write_direct(struct io *io, struct bytes *bytes)
{
	size_t queued = buf_len(&io->out);
	size_t sent = io_send(io, buf_view(&io->out), *bytes);

	if (io->is_dead)
		return -1;
	if (queued > sent)
		queued = sent;
	buf_consume(&io->out, queued);
	io_buf_settle(io->loop, &io->out);
	*bytes = bytes_slice(*bytes, sent - queued, bytes->len);
	if (buf_len(&io->out) == 0 && io->owes_drained)
		io_owe(io);
	if (io->was_blocked)
		io_update(io, 0);
	return 0;
}

int io_write(struct io *io, struct bytes bytes)
{
	bool is_direct = bytes.len >= IO_DIRECT_MIN && !io->was_blocked &&
			 !io->is_shaking;

	if (io->is_closed || io->is_dead || io->is_ending)
		return -1;
	if (bytes.len > buf_room(&io->out))
		return -1;
	if (is_direct && io_write_direct(io, &bytes) < 0)
		return -1;
	if (bytes.len == 0)
		return 0;
	/* Rather than make the queue larger than a block. */
	if (!is_direct && !io->was_blocked &&
	    buf_len(&io->out) + bytes.len > IO_CHUNK)
		io_flush(io);
	if (io->is_dead)
		return -1;
	/* Many may wait for their turn: a block for each would be too much. */
	if (bytes.len > IO_ROOM_MIN)
		io_buf_warm(io->loop, &io->out, bytes.len);
	if (buf_add(&io->out, bytes) < 0) {
		if (is_direct) {
			io_kill_of_errno(io, "queue what was not sent");
		}
		return -1;
	}
	if (io->is_shaking || io->was_blocked || io_is_full(io))
		io->owes_drained = true;
	io_flush_soon(io);
	return io->is_dead ? -1 : 0;
}

size_t io_out_len(const struct io *io)
{
	return buf_len(&io->out);
}

bool io_is_full(const struct io *io)
{
	return buf_len(&io->out) > io->out_high;
}

void io_end(struct io *io)
{
	if (io->is_closed || io->is_dead || io->is_ending)
		return;
	io->is_ending = true;
	io_flush_soon(io);
}

/* ---- what the loop calls ---- */

static void io_shake(struct io *io)
{
	int result;

	io->is_dry = false;
	result = io->layer->shake(io);
	if (result == IO_PAUSE)
		io_deliver(io, IO_TLS_HELLO);
	if (result != IO_ENDED)
		return;
	io->is_shaking = false;
	io_rest_soon(io->loop);
	io_deliver(io, IO_TLS_READY);
	if (io->is_closed)
		return;
	io_flush(io);
	if (io->is_reading && !io->is_dead) {
		io->owes_read = true;
		io_owe(io);
	}
}

static void io_on_ready(unsigned ready, void *owner)
{
	struct io *io = owner;
	struct io_loop *loop = io->loop;
	bool was_read = false;

	loop->activity++;
	io_loop_enter(loop);
	if (io->is_dead) {
		/* Only io_update() is left to do. */
	} else if (io->is_shaking) {
		if (ready & io->shake_needs)
			io_shake(io);
	} else if (io->is_lingering) {
		io_flush(io);
	} else {
		if ((ready & io->write_needs) && io_wants_write(io))
			io_flush(io);
		if ((ready & io->read_needs) && !io->is_dead &&
		    io_wants_read(io)) {
			io_read(io);
			was_read = true;
		}
	}
	/* An owner that had enough with these bytes will want the next. */
	if (was_read && io->is_dry)
		ready &= ~(unsigned)IO_READABLE;
	io_update(io, ready);
	io_loop_leave(loop);
}

/* A peer that says why and closes makes our writes fail before we have read
 * what it said. */
static void io_read_rest(struct io *io)
{
	size_t before = buf_len(&io->in);

	if (!io->is_reading || io->is_eof || io->is_shaking)
		return;
	(void)io_fill(io);
	if (buf_len(&io->in) > before)
		io_deliver(io, IO_DATA);
}

void io_settle(struct io *io)
{
	bool owes_read = io->owes_read;
	bool owes_shake = io->owes_shake;

	if (io->is_closed)
		return;
	io->loop->activity++;
	io->owes_read = io->owes_shake = false;
	if (io->owes_failed) {
		io->owes_failed = false;
		if (io->is_lingering) {
			io_close(io);
			return;
		}
		if (io->owes_rest)
			io_read_rest(io);
		io_deliver(io, IO_FAILED);
		io_update(io, 0);
		return;
	}
	if (owes_shake && io->is_shaking)
		io_shake(io);
	if (io->owes_drained && buf_len(&io->out) == 0 && !io->is_shaking) {
		io->owes_drained = false;
		if (!io->is_dead)
			io_deliver(io, IO_DRAINED);
	}
	if (owes_read && !io->is_closed && !io->is_dead && !io->is_shaking &&
	    !io->is_lingering && io_wants_read(io))
		io_read(io);
	io_update(io, 0);
}

static void io_on_deadline(void *owner)
{
	struct io *io = owner;

	if (io->is_lingering)
		io_linger_late(io);
	else if (!io->is_dead)
		io_deliver(io, IO_TIMEOUT);
}

void io_deadline(struct io *io, unsigned ms)
{
	if (!io->is_closed && !io->is_lingering)
		io_timer_set(&io->deadline, ms);
}
