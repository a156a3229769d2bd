/*
 * Commands in the background: they go on without whoever asked for them, and
 * what they write is kept here (commands/kept.h), so that it outlives the API
 * and the daemon. Whoever has a HOST_CHANNEL_BACKGROUND reads it.
 *
 *	runner = background_begin(supervisor, exec, text, &err);
 *	background_pipe(runner, stdio, &err);	// it is about to run
 *	background_end(runner, exit_code, signal, reason);
 */
#ifndef SANDBOX_HOST_SUPERVISOR_BACKGROUND_H
#define SANDBOX_HOST_SUPERVISOR_BACKGROUND_H

#include "sandbox-host/supervisor/parts.h"

struct runner;

/* One that will run. NULL: too many do, or there is no memory. */
struct runner *background_begin(struct supervisor *supervisor,
				struct exec *exec, struct bytes text,
				struct err *err);
const char *background_id(const struct runner *runner);
/* Its outputs: stdio[1] and stdio[2] become the caller's. 0, or -1. */
int background_pipe(struct runner *runner, int stdio[3], struct err *err);
/* Keep the last of what it wrote, and how it ended. Takes runner. */
void background_end(struct runner *runner, int exit_code, int number,
		    const char *reason);
/* It never ran. Takes runner. */
void background_drop(struct runner *runner);

/* A channel of MSG_BACKGROUND_*; its other end. -1 with *err. */
int background_open(struct supervisor *supervisor, struct err *err);
void background_close_all(struct supervisor *supervisor);

/* ---- exec.c ---- */

/* SIGTERM for its group, and SIGKILL when that does not end it. */
void exec_stop(struct exec *exec);

#endif
