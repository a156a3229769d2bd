/*
 * Bytes from one descriptor to another, as both can, for a loop of poll(2):
 * what a command in a sandbox reads and writes, where it must not have our
 * own descriptor.
 */
#ifndef CLI_PUMP_H
#define CLI_PUMP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define PUMP_BYTES 16384

struct pump {
	int from, to;		 /* -1: closed, or never there */
	bool owns_from, owns_to; /* close it at the end */
	char bytes[PUMP_BYTES];
	size_t start, end;
};

/* What to wait for. */
void pump_poll(const struct pump *pump, struct pollfd fds[2]);
/* Move what can be moved. */
void pump_serve(struct pump *pump, const struct pollfd fds[2]);
/* Move what is there already, and close. */
void pump_finish(struct pump *pump);

#endif
