/*
 * The processes of supervisors. One waits, started and linked, for the next
 * sandbox; it has a channel to us, knows what host.yaml says and what the root
 * of the last sandbox began with, and holds nothing else. Another is started
 * SPARE_DELAY_MS after it was taken. Where a second was wanted before that was
 * there, two wait, until no second was wanted for SPARE_MORE_MS. They end when
 * their channels do: with us, however that is.
 */
#ifndef SANDBOX_HOST_DAEMON_SPARE_H
#define SANDBOX_HOST_DAEMON_SPARE_H

#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/flow/birth.h"

#define SPARES_MAX     2
#define SPARE_DELAY_MS 50
#define SPARE_MORE_MS  10000
/* After one that ended, or could not be started, by itself. */
#define SPARE_AGAIN_MS 1000

int spare_open(struct daemon *daemon, struct err *err);
void spare_close(struct daemon *daemon);
/* Give a sandbox to one that waits, or to a new one. The channel to it,
 * and its process in *pid; or -1. */
int spare_give(struct daemon *daemon, const struct birth *birth,
	       const int fds[BIRTH_FDS], pid_t *pid, struct err *err);
/* What the root of a sandbox began with: where that of the one before did, too,
 * the next that waits begins so. */
void spare_expect(struct daemon *daemon, const struct supervisor_base *base);
/* The configuration is another one: what knows the one before ends. */
void spare_begin_anew(struct daemon *daemon);

#endif
