/* What the entrypoint writes, to the sandbox's log, of which the newest is
 * kept. */
#ifndef SANDBOX_HOST_SUPERVISOR_OUTPUT_H
#define SANDBOX_HOST_SUPERVISOR_OUTPUT_H

#include "sandbox-host/supervisor/supervisor.h"

/* The write end for the entrypoint, or -1. */
int output_open(struct supervisor *supervisor, struct err *err);
/* There is room again (pace.h). */
void output_go_on(struct supervisor *supervisor);
/* What is still in the pipe, then close. */
void output_close(struct supervisor *supervisor);

#endif
