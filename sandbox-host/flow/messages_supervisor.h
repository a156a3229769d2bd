/*
 * Messages of a sandbox's supervisor, and of a command in it: see messages.h.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_SUPERVISOR_H
#define SANDBOX_HOST_FLOW_MESSAGES_SUPERVISOR_H

#include "sandbox-host/flow/messages_host.h"

struct supervisor_state {
	uint8_t state; /* enum host_state */
	struct bytes reason;
	struct bytes message;
	uint64_t changed_ms;
	uint64_t expires_ms;
	uint64_t ran_ms; /* as struct host_sandbox has it */
	struct bytes session;
	struct bytes workspace;
	uint32_t init_pid;
	bool has_exit_code;
	uint32_t exit_code;
};
extern const struct wire_schema supervisor_state_schema;

/* What its sandbox's root began with (base.h): one that is made next may be
 * like it. */
struct supervisor_base {
	bool is_known; /* false: it has a root of its own */
	uint32_t uid, gid;
	bool has_read;
	uint64_t tmpfs_bytes;
};
extern const struct wire_schema supervisor_base_schema;

struct supervisor_end {
	struct bytes reason;
};
extern const struct wire_schema supervisor_end_schema;

struct exec_stdio {
	uint8_t which; /* 0, 1 or 2 */
};
extern const struct wire_schema exec_stdio_schema;

struct exec_started {
	uint32_t pid; /* inside */
};
extern const struct wire_schema exec_started_schema;

#define EXEC_ASKED_ID_MAX 32
struct exec_asked {
	struct bytes id;    /* of the proposal */
	struct bytes words; /* the command, as a person is shown it, or its
			       beginning */
};
extern const struct wire_schema exec_asked_schema;

struct exec_signal {
	uint8_t number;
	bool is_for_group; /* the whole process group of the command */
	/* Do not wait for a sandbox that rests: the refusal says that it does,
	 * and the signal still comes when it goes on. */
	bool answers_soon;
};
extern const struct wire_schema exec_signal_schema;

struct exec_ended {
	uint32_t exit_code;  /* 128+n for a signal, 127 not found, 126 not
				runnable */
	uint8_t signal;	     /* 0: none */
	struct bytes reason; /* empty, or why it did not end by itself */
};
extern const struct wire_schema exec_ended_schema;

#endif
