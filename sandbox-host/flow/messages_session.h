/*
 * Sessions of a shell: the state of each, as bash reads it, is kept by its
 * sandbox's supervisor, on a HOST_CHANNEL_SESSION: see messages.h.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_SESSION_H
#define SANDBOX_HOST_FLOW_MESSAGES_SESSION_H

#include "sandbox-host/flow/messages_host.h"

#define SESSION_ID_MAX	  32 /* "bash-" and 26 base32 characters */
#define SESSION_STATE_MAX (512 * 1024)

struct session_wish {
	struct bytes cwd; /* of its first run; empty: the workspace */
};
extern const struct wire_schema session_wish_schema;

struct session_ref {
	struct bytes id; /* empty, to be taken: the sandbox's own */
};
extern const struct wire_schema session_ref_schema;

struct session_taken {
	struct bytes cwd; /* empty once it has run */
	uint64_t ran_ms;  /* wall clock: when it was taken */
};
extern const struct wire_schema session_taken_schema;

#endif
