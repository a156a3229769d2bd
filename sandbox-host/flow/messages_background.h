/*
 * Commands in the background: what their sandbox's supervisor keeps of them,
 * on a HOST_CHANNEL_BACKGROUND: see messages.h.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_BACKGROUND_H
#define SANDBOX_HOST_FLOW_MESSAGES_BACKGROUND_H

#include "sandbox-host/flow/messages_host.h"

#define BACKGROUND_ID_MAX     32 /* "cmd-" and 26 base32 characters */
#define BACKGROUND_TEXT_MAX   4096
#define BACKGROUND_OUTPUT_MAX (1024 * 1024)

/* Text to show it by; longer ones are cut before. */
struct exec_keep {
	struct bytes text;
};
extern const struct wire_schema exec_keep_schema;

struct background_ref {
	struct bytes id;
};
extern const struct wire_schema background_ref_schema;

struct background_state {
	struct bytes text;
	bool is_running;
	uint64_t started_ms, finished_ms; /* wall clock */
	uint32_t exit_code;		  /* 128+n for a signal */
	uint8_t signal;			  /* 0: none */
	struct bytes reason; /* empty, or why it did not end by itself */
};
extern const struct wire_schema background_state_schema;

struct background_from {
	struct bytes id;
	uint64_t cursor; /* from this byte on */
};
extern const struct wire_schema background_from_schema;

struct background_output {
	uint64_t start;	 /* where it begins: later than asked for when the older
			    part is gone */
	bool is_running; /* there may be more */
};
extern const struct wire_schema background_output_schema;

#endif
