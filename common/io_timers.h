/*
 * The timers of a loop (io_timer.c), for the io*.c files alone.
 */
#ifndef COMMON_IO_TIMERS_H
#define COMMON_IO_TIMERS_H

#include "common/io.h"

struct io_timer {
	struct io_loop *loop;
	io_timer_fn *fn;
	void *owner;
	uint64_t at;  /* when it is due; 0: off */
	uint64_t key; /* its place in the heap: never after at */
	uint64_t order;
	size_t slot; /* in the heap, or TIMER_NOWHERE */
};

struct io_timers {
	struct io_timer **heap;
	size_t count;
	size_t size;
	size_t attached; /* bound on count: heap has room for all */
	uint64_t order;
};

/* Prepare a timer inside another struct. 0, or -1 when memory is out. */
int io_timer_attach(struct io_timer *timer, struct io_loop *loop,
		    io_timer_fn *fn, void *owner);
void io_timer_detach(struct io_timer *timer);
/* When the next timer is due; UINT64_MAX when none is. */
uint64_t io_timers_next(struct io_timers *timers);
void io_timers_run(struct io_loop *loop);

#endif
