/*
 * How fast is read what a sandbox writes while nobody waits for it: its
 * commands in the background, its entrypoint's log, programs that stay and
 * that nobody holds. All of them together, PACE_BYTES_MAX in PACE_SLICE_MS
 * (20 MiB a second): whoever writes faster waits, since no limit of the
 * sandbox's counts our reading. Those that were held up are read in the order
 * in which they were, so none is left out for those that write most.
 *
 *	if (!pace_has_room(supervisor, &turn))
 *		... stop reading, until turn.go_on()
 *	pace_count(supervisor, len);
 */
#ifndef SANDBOX_HOST_SUPERVISOR_PACE_H
#define SANDBOX_HOST_SUPERVISOR_PACE_H

#include "common/io.h"

#define PACE_BYTES_MAX (1024 * 1024)
#define PACE_SLICE_MS  50

struct supervisor;

/* Of one that writes; its own, and it must not be freed before pace_forget().
 */
struct pace_turn {
	/* There is room: read some, and go on. It may be gone afterwards. */
	void (*go_on)(void *owner);
	void *owner;
	bool waits;
	struct pace_turn *next, *prev;
};

struct pace {
	struct io_timer *slice;	 /* set once something was read in it */
	size_t bytes;		 /* that were */
	struct pace_turn *turns; /* who was held up, in order */
};

/* Once or more often, before the first count. 0, or -1 with *err. */
int pace_open(struct supervisor *supervisor, struct err *err);
void pace_close(struct supervisor *supervisor);

/* May some more be read in this slice? What is read at once may pass it. If
 * not its turn comes. */
bool pace_has_room(struct supervisor *supervisor, struct pace_turn *turn);
/* So much was read. */
void pace_count(struct supervisor *supervisor, size_t len);
/* It waits for no turn any more. */
void pace_forget(struct supervisor *supervisor, struct pace_turn *turn);

#endif
