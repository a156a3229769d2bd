/*
 * What the sandbox's own command writes: a pipe, from which we write to its
 * log (flow/files.h). The log's last LOG_KEPT bytes are kept.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_OUTPUT_H
#define SANDBOX_HOST_SUPERVISOR_OUTPUT_H

#include "sandbox-host/supervisor/supervisor.h"

/* Make the log of a sandbox that will have a command at once, while nobody
 * waits for it. If that fails it is tried again, and said, when it is needed.
 */
void output_prepare(struct supervisor *supervisor);
/* The write end for the entrypoint: its descriptors 1 and 2. 0, or -1. */
int output_give(struct supervisor *supervisor, int stdio[3], struct err *err);
/* What is still in the pipe, then close. */
void output_close(struct supervisor *supervisor);

#endif
