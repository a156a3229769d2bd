/*
 * Two ios that are each other's peer, in memory: what is written to one is
 * read from the other. Everything of io.h holds for both (back-pressure,
 * half-close, IO_RELEASED), but that there is no descriptor: io_fd() is -1,
 * and neither TLS nor io_detach() is for them. No system call is made.
 *
 * An end that closes is IO_EOF for the other; one that only ended may close
 * later, which is IO_DRAINED (or IO_FAILED when something waits to be sent):
 * io_pair_is_alone() tells.
 *
 * At most IO_PAIR_QUEUE bytes are on their way in each direction, beside
 * what io_in() and the out queue hold.
 */
#ifndef COMMON_IO_PAIR_H
#define COMMON_IO_PAIR_H

#include "common/io.h"

#define IO_PAIR_QUEUE 65536

/* Make the pair; limits[i] are those of ends[i]. Give both an owner with
 * io_set_owner() before the turn ends. 0, or -1 when memory is out. */
int io_pair_new(struct io_loop *loop, const struct io_limits limits[2],
		struct io *ends[2]);

/* Is the other end closed? */
bool io_pair_is_alone(const struct io *io);

/* Close our end so that the other does not mistake it for an end in order:
 * it gets IO_FAILED with why, also while it does not read. What was queued
 * is lost. */
void io_pair_abort(struct io *io, const struct err *why);

#endif
