#include <assert.h>
#include <stdlib.h>

#include "common/io_core.h"

/*
 * A binary heap. A timer that is moved to later, or turned off, keeps its
 * place until that place comes up: deadlines are moved at each request and
 * hardly ever fire.
 */

#define TIMER_NOWHERE  SIZE_MAX
#define TIMER_SIZE_MIN 64

static bool timer_is_before(const struct io_timer *a, const struct io_timer *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	return a->order < b->order;
}

static void timer_put(struct io_timers *timers, size_t slot,
		      struct io_timer *timer)
{
	timers->heap[slot] = timer;
	timer->slot = slot;
}

static void timer_up(struct io_timers *timers, struct io_timer *timer)
{
	size_t slot = timer->slot;

	while (slot > 0) {
		struct io_timer *parent = timers->heap[(slot - 1) / 2];

		if (!timer_is_before(timer, parent))
			break;
		timer_put(timers, slot, parent);
		slot = (slot - 1) / 2;
	}
	timer_put(timers, slot, timer);
}

static void timer_down(struct io_timers *timers, struct io_timer *timer)
{
	size_t slot = timer->slot;

	for (;;) {
		size_t child = 2 * slot + 1;

		if (child >= timers->count)
			break;
		if (child + 1 < timers->count &&
		    timer_is_before(timers->heap[child + 1],
				    timers->heap[child]))
			child++;
		if (!timer_is_before(timers->heap[child], timer))
			break;
		timer_put(timers, slot, timers->heap[child]);
		slot = child;
	}
	timer_put(timers, slot, timer);
}

static void timer_remove(struct io_timers *timers, struct io_timer *timer)
{
	struct io_timer *last;
	size_t slot = timer->slot;

	if (slot == TIMER_NOWHERE)
		return;
	timer->slot = TIMER_NOWHERE;
	last = timers->heap[--timers->count];
	if (last == timer)
		return;
	timer_put(timers, slot, last);
	timer_up(timers, last);
	timer_down(timers, last);
}

int io_timer_attach(struct io_timer *timer, struct io_loop *loop,
		    io_timer_fn *fn, void *owner)
{
	struct io_timers *timers = &loop->timers;

	if (timers->attached == timers->size) {
		size_t size = timers->size ? timers->size * 2 : TIMER_SIZE_MIN;
		struct io_timer **heap = (struct io_timer **)reallocarray(
			timers->heap, size, sizeof(*heap));

		if (!heap)
			return -1;
		timers->heap = heap;
		timers->size = size;
	}
	timers->attached++;
	*timer = (struct io_timer){
		.loop = loop, .fn = fn, .owner = owner, .slot = TIMER_NOWHERE};
	return 0;
}

void io_timer_detach(struct io_timer *timer)
{
	timer_remove(&timer->loop->timers, timer);
	timer->loop->timers.attached--;
}

void io_timer_set(struct io_timer *timer, unsigned ms)
{
	const struct io_loop *loop = timer->loop;
	struct io_timers *timers = &timer->loop->timers;

	if (ms == 0) {
		timer->at = 0;
		return;
	}
	/* Of every state of every request: not even a call. */
	timer->at =
		(loop->is_now_fresh ? loop->now_ms : io_loop_now_ms(loop)) + ms;
	if (timer->slot != TIMER_NOWHERE && timer->key <= timer->at)
		return;
	timer->key = timer->at;
	timer->order = timers->order++;
	if (timer->slot == TIMER_NOWHERE)
		timer_put(timers, timers->count++, timer);
	timer_up(timers, timer);
}

/* The timer that is due next, its place made true; NULL when none is. */
static struct io_timer *timer_first(struct io_timers *timers)
{
	while (timers->count > 0) {
		struct io_timer *timer = timers->heap[0];

		if (timer->at == 0) {
			timer_remove(timers, timer);
		} else if (timer->key < timer->at) {
			timer->key = timer->at;
			timer->order = timers->order++;
			timer_down(timers, timer);
		} else {
			return timer;
		}
	}
	return NULL;
}

uint64_t io_timers_next(struct io_timers *timers)
{
	const struct io_timer *timer = timer_first(timers);

	return timer ? timer->at : UINT64_MAX;
}

void io_timers_run(struct io_loop *loop)
{
	struct io_timer *timer;

	while ((timer = timer_first(&loop->timers)) != NULL &&
	       timer->at <= loop->now_ms) {
		timer_remove(&loop->timers, timer);
		timer->at = 0;
		loop->activity++;
		io_loop_enter(loop);
		timer->fn(timer->owner);
		io_loop_leave(loop);
	}
}

struct io_timer *io_timer_new(struct io_loop *loop, io_timer_fn *fn,
			      void *owner)
{
	struct io_timer *timer = malloc(sizeof(*timer));

	if (!timer || io_timer_attach(timer, loop, fn, owner) < 0) {
		free(timer);
		return NULL;
	}
	return timer;
}

void io_timer_free(struct io_timer *timer)
{
	if (!timer)
		return;
	io_timer_detach(timer);
	free(timer);
}
