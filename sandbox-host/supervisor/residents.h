/*
 * Terminals and contexts of code: programs that stay when whoever looks at
 * them goes, be it a client, the API or the daemon. Each is a command as any
 * (exec.c), of which we are the asker.
 *
 *	residents.c -> those that are there, and channels to them
 *	resident.c  -> one: its process, what it writes and reads
 */
#ifndef SANDBOX_HOST_SUPERVISOR_RESIDENTS_H
#define SANDBOX_HOST_SUPERVISOR_RESIDENTS_H

#include "sandbox-host/supervisor/parts.h"

/* A channel of MSG_RESIDENT_*; its other end. -1 with *err. */
int residents_open(struct supervisor *supervisor, struct err *err);
/* End them all. */
void residents_close_all(struct supervisor *supervisor);

#endif
