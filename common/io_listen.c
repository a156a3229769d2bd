#include <errno.h>
#include <stdlib.h>

#include "common/io_core.h"

#define ACCEPT_PER_TURN_MAX 64
#define ACCEPT_PAUSE_MS	    100

struct io_listener {
	struct io_loop *loop;
	struct io_poll *poll;
	io_accept_fn *fn;
	void *owner;
	struct io_timer pause; /* runs while nothing can be accepted */
	int fd;
	bool is_paused;
	bool *is_gone; /* set when freed inside on_ready */
};

static void listener_update(struct io_listener *listener)
{
	bool is_on = !listener->is_paused && listener->pause.at == 0;

	/* Without memory for it the next pause tries again. */
	if (io_poll_set(listener->poll, is_on ? IO_READABLE : 0) < 0)
		io_timer_set(&listener->pause, ACCEPT_PAUSE_MS);
}

static void listener_on_pause_over(void *owner)
{
	listener_update(owner);
}

/* Accept one. False when the turn is over. */
static bool listener_accept(struct io_listener *listener)
{
	struct io_accepted got;

	if (io_sys_accept(listener->fd, &got) == 0) {
		listener->loop->activity++;
		listener->fn(got.fd, &got.peer, &got.original,
			     got.was_redirected, listener->owner);
		return true;
	}
	switch (errno) {
	case EAGAIN:
		return false;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	/* It was shut down, by whoever has it as well: no turn would rest. */
	case EINVAL:
		io_timer_set(&listener->pause, ACCEPT_PAUSE_MS);
		listener_update(listener);
		return false;
	default:
		/* The connection's failure, not the listener's. */
		return true;
	}
}

static void listener_on_ready(unsigned ready, void *owner)
{
	struct io_listener *listener = owner;
	struct io_loop *loop = listener->loop;
	bool is_gone = false;

	(void)ready;
	io_loop_enter(loop);
	listener->is_gone = &is_gone;
	for (int i = 0; i < ACCEPT_PER_TURN_MAX; i++) {
		if (!listener_accept(listener) || is_gone ||
		    listener->is_paused)
			break;
	}
	if (!is_gone)
		listener->is_gone = NULL;
	io_loop_leave(loop);
}

struct io_listener *io_listen(struct io_loop *loop, int fd, io_accept_fn *fn,
			      void *owner, struct err *err)
{
	struct io_listener *listener = calloc(1, sizeof(*listener));

	if (!listener || io_timer_attach(&listener->pause, loop,
					 listener_on_pause_over, listener)) {
		err_system(err, "make a listener");
		io_sys_close(fd);
		free(listener);
		return NULL;
	}
	listener->loop = loop;
	listener->fn = fn;
	listener->owner = owner;
	listener->fd = fd;
	listener->poll =
		io_poll_new(loop->backend, fd, listener_on_ready, listener);
	if (!listener->poll || io_sys_prepare(fd) < 0 ||
	    io_poll_set(listener->poll, IO_READABLE) < 0) {
		err_system(err, "listen");
		io_listener_free(listener);
		return NULL;
	}
	return listener;
}

void io_listener_pause(struct io_listener *listener, bool paused)
{
	listener->is_paused = paused;
	listener_update(listener);
}

void io_listener_free(struct io_listener *listener)
{
	if (!listener)
		return;
	if (listener->is_gone)
		*listener->is_gone = true;
	io_poll_free(listener->poll);
	io_timer_detach(&listener->pause);
	io_sys_close(listener->fd);
	free(listener);
}
