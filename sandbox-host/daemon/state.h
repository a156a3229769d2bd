/*
 * What may become of a sandbox in which state: one table, that
 * `sallyport-host --dump-states` prints for Graphviz.
 */
#ifndef SANDBOX_HOST_DAEMON_STATE_H
#define SANDBOX_HOST_DAEMON_STATE_H

#include <stdbool.h>
#include <stdio.h>

#include "sandbox-host/flow/messages.h"

/* What a sandbox is asked for, where its state matters. */
#define STATE_REQUESTS(X)                                                      \
	X(USE, "commands, channels, connections")                              \
	X(LOOK, "what is kept for it")                                         \
	X(PAUSE, "pause")                                                      \
	X(RESUME, "resume")                                                    \
	X(RENEW, "renew")                                                      \
	X(KILL, "kill")                                                        \
	X(CHANGE, "change its metadata")

enum state_request {
#define X(name, text) STATE_##name,
	STATE_REQUESTS(X)
#undef X
		STATE_REQUEST_MAX
};

/* May a sandbox in this state become that? */
bool state_may_become(enum host_state from, enum host_state to);
/* May it be asked for this? */
bool state_accepts(enum host_state state, enum state_request request);
/* Terminated or Failed: nothing happens any more. */
bool state_is_over(enum host_state state);
void state_dump(FILE *out);

#endif
