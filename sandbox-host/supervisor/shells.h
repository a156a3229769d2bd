/*
 * What the sessions of a shell (the API's /session) keep from run to run: the
 * state that the last run told, as text of bash, so that it outlives the API
 * and the daemon. A run takes it over its own HOST_CHANNEL_SESSION, and gives
 * the next one back; a channel that closes gives nothing, and the state is
 * what it was. Nothing of it is read here.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_SHELLS_H
#define SANDBOX_HOST_SUPERVISOR_SHELLS_H

#include "sandbox-host/supervisor/parts.h"

/* A channel of MSG_SESSION_*; its other end. -1 with *err. */
int shells_open(struct supervisor *supervisor, struct err *err);
void shells_close_all(struct supervisor *supervisor);

#endif
