#include <stdlib.h>

#include "common/io_core.h"

struct io_watch {
	struct io_loop *loop;
	struct io_poll *poll;
	io_watch_fn *fn;
	void *owner;
	int fd;
	unsigned wanted;
};

static void watch_on_ready(unsigned ready, void *owner)
{
	struct io_watch *watch = owner;
	struct io_loop *loop = watch->loop;

	loop->activity++;
	io_loop_enter(loop);
	watch->fn(watch->fd, ready & IO_READABLE, ready & IO_WRITABLE,
		  watch->owner);
	io_loop_leave(loop);
}

struct io_watch *io_watch_new(struct io_loop *loop, int fd, io_watch_fn *fn,
			      void *owner)
{
	struct io_watch *watch = malloc(sizeof(*watch));

	if (!watch)
		return NULL;
	*watch = (struct io_watch){
		.loop = loop, .fn = fn, .owner = owner, .fd = fd};
	watch->poll = io_poll_new(loop->backend, fd, watch_on_ready, watch);
	if (!watch->poll) {
		free(watch);
		return NULL;
	}
	return watch;
}

void io_watch_set(struct io_watch *watch, bool readable, bool writable)
{
	unsigned wanted =
		(readable ? IO_READABLE : 0) | (writable ? IO_WRITABLE : 0);

	if (wanted != watch->wanted && io_poll_set(watch->poll, wanted) == 0)
		watch->wanted = wanted;
}

void io_watch_free(struct io_watch *watch)
{
	if (!watch)
		return;
	io_poll_free(watch->poll);
	free(watch);
}
