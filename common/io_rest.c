#include <malloc.h>
#include <stdlib.h>

#include "common/arena_spare.h"
#include "common/dense.h"
#include "common/io_core.h"

/*
 * Handshakes take tens of KiB each and leave them scattered between what
 * stays: the kernel gets such pages back when the loop has come to rest, and
 * now and then when it never does. A process at rest is not woken again.
 */

#define REST_MS	       250
#define REST_LATEST_MS 10000
#define REST_CALLS_MAX 64	   /* in REST_MS, of a loop that rests */
#define REST_FREE_MIN  (96 * 1024) /* less is left for what comes next */
#define REST_TOP       (32 * 1024) /* stays at the heap's end, likewise */

static void give_back(struct io_loop *loop)
{
	struct mallinfo2 heap;

	while (loop->spare_count > 0)
		free(loop->spare[--loop->spare_count]);
	arena_spare_free();
	dense_give_back();
	heap = mallinfo2();
	if (heap.fordblks >= REST_FREE_MIN)
		(void)malloc_trim(REST_TOP);
}

static void on_rest(void *owner)
{
	struct io_loop *loop = owner;
	struct io_rest *rest = &loop->rest;
	bool is_busy = loop->activity - rest->activity > REST_CALLS_MAX;

	if (is_busy && io_loop_now_ms(loop) < rest->latest_ms) {
		rest->activity = loop->activity;
		io_timer_set(&rest->timer, REST_MS);
		return;
	}
	rest->is_due = false;
	give_back(loop);
}

int io_rest_init(struct io_loop *loop)
{
	return io_timer_attach(&loop->rest.timer, loop, on_rest, loop);
}

void io_rest_soon(struct io_loop *loop)
{
	struct io_rest *rest = &loop->rest;

	if (rest->is_due)
		return;
	rest->is_due = true;
	rest->activity = loop->activity;
	rest->latest_ms = io_loop_now_ms(loop) + REST_LATEST_MS;
	io_timer_set(&rest->timer, REST_MS);
}
