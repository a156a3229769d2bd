/*
 * How fast is read what a sandbox writes while nobody waits for it: its
 * commands in the background, its entrypoint's log, programs that stay and
 * that nobody holds. All of them together, PACE_BYTES_MAX in PACE_SLICE_MS
 * (20 MiB a second): whoever writes faster waits, since no limit of the
 * sandbox's counts our reading.
 *
 *	if (!pace_has_room(supervisor))
 *		... stop reading; the part's own _go_on() says when it may
 *	pace_count(supervisor, len);
 */
#ifndef SANDBOX_HOST_SUPERVISOR_PACE_H
#define SANDBOX_HOST_SUPERVISOR_PACE_H

#include "sandbox-host/supervisor/supervisor.h"

#define PACE_BYTES_MAX (1024 * 1024)
#define PACE_SLICE_MS  50

/* Once or more often, before the first count. 0, or -1 with *err. */
int pace_open(struct supervisor *supervisor, struct err *err);
void pace_close(struct supervisor *supervisor);

/* May some more be read in this slice? What is read at once may pass it. */
bool pace_has_room(const struct supervisor *supervisor);
/* So much was read. */
void pace_count(struct supervisor *supervisor, size_t len);

#endif
