#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "common/io_core.h"

#define DEFERRED_SIZE_MIN 16
/* So many callbacks may wait for what they wrote to be sent: one after the
 * other, sends find a reader that is awake from the first, and wake it once. */
#define GATHER_MAX 16

struct io_loop *io_loop_new(struct err *err)
{
	struct io_loop *loop = calloc(1, sizeof(*loop));

	if (!loop) {
		err_system(err, "make a loop");
		return NULL;
	}
	loop->backend = io_backend_new(err);
	if (!loop->backend) {
		free(loop);
		return NULL;
	}
	if (io_rest_init(loop) < 0) {
		err_system(err, "make a loop");
		io_backend_free(loop->backend);
		free(loop);
		return NULL;
	}
	TAILQ_INIT(&loop->open);
	TAILQ_INIT(&loop->unsent);
	TAILQ_INIT(&loop->owed);
	TAILQ_INIT(&loop->stalled);
	TAILQ_INIT(&loop->released);
	loop->now_ms = io_backend_now_ms(loop->backend);
	return loop;
}

static void loop_release(struct io_loop *loop)
{
	struct io *io;

	while ((io = TAILQ_FIRST(&loop->released)) != NULL)
		io_release(io);
}

void io_loop_free(struct io_loop *loop)
{
	struct io *io;

	if (!loop)
		return;
	assert(loop->depth == 0);
	while ((io = TAILQ_FIRST(&loop->open)) != NULL) {
		io_close(io);
		loop_release(loop);
	}
	loop_release(loop);
	while (loop->spare_count > 0)
		free(loop->spare[--loop->spare_count]);
	free(loop->deferred.calls);
	free(loop->deferred_idle.calls);
	free(loop->timers.heap);
	io_backend_free(loop->backend);
	free(loop);
}

static void loop_flush(struct io_loop *loop)
{
	struct io *io;

	while ((io = TAILQ_FIRST(&loop->unsent)) != NULL) {
		TAILQ_REMOVE(&loop->unsent, io, unsent_link);
		io->is_unsent = false;
		io_flush(io);
	}
}

void io_loop_enter(struct io_loop *loop)
{
	if (!loop->is_now_fresh) {
		loop->now_ms = io_backend_now_ms(loop->backend);
		loop->is_now_fresh = true;
	}
	if (loop->depth++ == 0)
		loop->callbacks++;
}

void io_loop_leave(struct io_loop *loop)
{
	bool may_wait = loop->is_polling && ++loop->gathered < GATHER_MAX;

	if (loop->depth == 1 && !may_wait) {
		loop_flush(loop);
		loop->gathered = 0;
	}
	loop->depth--;
}

static void loop_settle(struct io_loop *loop)
{
	struct io_list owed = TAILQ_HEAD_INITIALIZER(owed);
	struct io *io;

	/* What becomes owed from here on waits for the next turn. */
	TAILQ_CONCAT(&owed, &loop->owed, owed_link);
	while ((io = TAILQ_FIRST(&owed)) != NULL) {
		TAILQ_REMOVE(&owed, io, owed_link);
		io->is_owed = false;
		io_loop_enter(loop);
		io_settle(io);
		io_loop_leave(loop);
	}
}

static void loop_run_deferred(struct io_loop *loop)
{
	struct io_deferrals calls = loop->deferred;

	/* What is deferred from here on waits for the next turn. */
	loop->deferred = loop->deferred_idle;
	for (size_t i = 0; i < calls.count; i++) {
		loop->activity++;
		io_loop_enter(loop);
		calls.calls[i].fn(calls.calls[i].owner);
		io_loop_leave(loop);
	}
	calls.count = 0;
	loop->deferred_idle = calls;
}

int io_loop_defer(struct io_loop *loop, io_timer_fn *fn, void *owner)
{
	struct io_deferrals *list = &loop->deferred;

	if (list->count == list->size) {
		size_t size = list->size ? list->size * 2 : DEFERRED_SIZE_MIN;
		struct io_deferred *calls =
			reallocarray(list->calls, size, sizeof(*calls));

		if (!calls)
			return -1;
		list->calls = calls;
		list->size = size;
	}
	list->calls[list->count++] = (struct io_deferred){fn, owner};
	return 0;
}

/* How long the backend may wait, when the caller allows wait_ms. */
static int loop_wait_ms(struct io_loop *loop, int wait_ms)
{
	uint64_t next;
	uint64_t now;

	if (!TAILQ_EMPTY(&loop->owed) || !TAILQ_EMPTY(&loop->released) ||
	    loop->deferred.count > 0)
		return 0;
	next = io_timers_next(&loop->timers);
	if (next == UINT64_MAX || wait_ms == 0)
		return wait_ms;
	now = io_backend_now_ms(loop->backend);
	if (next <= now)
		return 0;
	if (wait_ms < 0 || next - now < (uint64_t)wait_ms)
		return next - now > INT_MAX ? INT_MAX : (int)(next - now);
	return wait_ms;
}

/* What is ready, and what was written because of it. */
static int loop_poll(struct io_loop *loop, int wait_ms, struct err *err)
{
	int result;

	loop->is_now_fresh = false;
	loop->is_polling = true;
	loop->gathered = 0;
	result = io_backend_poll(loop->backend, wait_ms, err);
	loop->is_polling = false;
	io_loop_enter(loop);
	io_loop_leave(loop);
	return result;
}

static int loop_turn(struct io_loop *loop, int wait_ms, struct err *err)
{
	assert(loop->depth == 0);
	io_resume_stalled(loop);
	if (loop_poll(loop, loop_wait_ms(loop, wait_ms), err) < 0)
		return -1;
	io_timers_run(loop);
	loop_settle(loop);
	loop_run_deferred(loop);
	loop_release(loop);
	loop->is_now_fresh = false;
	return 0;
}

int io_loop_turn(struct io_loop *loop, unsigned wait_ms, struct err *err)
{
	return loop_turn(loop, wait_ms > INT_MAX ? INT_MAX : (int)wait_ms, err);
}

int io_loop_run(struct io_loop *loop, struct err *err)
{
	loop->is_stopping = false;
	while (!loop->is_stopping) {
		if (loop_turn(loop, IO_WAIT_FOREVER, err) < 0)
			return -1;
	}
	return 0;
}

void io_loop_stop(struct io_loop *loop)
{
	loop->is_stopping = true;
}

uint64_t io_loop_now_ms(const struct io_loop *loop)
{
	return loop->is_now_fresh ? loop->now_ms
				  : io_backend_now_ms(loop->backend);
}

struct io_backend *io_loop_backend(const struct io_loop *loop)
{
	return loop->backend;
}
