/*
 * Programs that stay: terminals, and contexts of code. Their sandbox's
 * supervisor has them, with the newest of what they write, so they outlive
 * whoever looks; one channel at a time holds one. On a HOST_CHANNEL_RESIDENT:
 * see messages.h.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_RESIDENT_H
#define SANDBOX_HOST_FLOW_MESSAGES_RESIDENT_H

#include "sandbox-host/flow/messages_host.h"

#define RESIDENT_ID_MAX	       32 /* "pty-" and 26 base32 characters */
#define RESIDENT_REPLAY_MAX    (256 * 1024)
#define RESIDENT_PIECE_MAX     (32 * 1024)
#define RESIDENT_TERMINALS_MAX 16 /* of a sandbox */
#define RESIDENT_CONTEXTS_MAX  8
#define RESIDENT_LIST_MAX      RESIDENT_TERMINALS_MAX
#define RESIDENT_IDLE_MS       (30ull * 60 * 1000) /* with nobody there */

enum resident_kind {
	/* What it writes is kept; it starts again for the next one. */
	RESIDENT_TERMINAL,
	/* What it writes is for who is there; who goes interrupts it; it is
	 * over with its process, and with whoever it was made for when that
	 * went without a word before it wrote anything. */
	RESIDENT_CONTEXT,
	RESIDENT_KIND_MAX
};

struct resident_wish {
	uint8_t kind;	 /* enum resident_kind */
	bool is_default; /* the one of its kind; it may be there already */
};
extern const struct wire_schema resident_wish_schema;

struct resident_ref {
	uint8_t kind;
	struct bytes id; /* empty: all of the kind, where that makes sense */
};
extern const struct wire_schema resident_ref_schema;

struct resident_list {
	const struct resident_ref *residents; /* the oldest first */
	size_t residents_count;
};
extern const struct wire_schema resident_list_schema;

struct resident_state {
	bool is_running;
	uint64_t written; /* bytes, ever */
};
extern const struct wire_schema resident_state_schema;

struct resident_signal {
	uint8_t kind;
	struct bytes id;
	uint8_t number;
};
extern const struct wire_schema resident_signal_schema;

struct resident_take {
	uint8_t kind;
	struct bytes id;
	uint64_t since; /* what it wrote from this byte on */
	bool takes_over;
};
extern const struct wire_schema resident_take_schema;

struct resident_taken {
	bool is_running;
	bool is_pipe;	/* of one that runs */
	uint64_t start; /* where what is kept begins */
};
extern const struct wire_schema resident_taken_schema;

struct resident_start {
	bool is_pipe; /* no terminal */
};
extern const struct wire_schema resident_start_schema;

struct resident_size {
	uint16_t rows, columns;
};
extern const struct wire_schema resident_size_schema;

struct resident_input {
	struct bytes bytes;
};
extern const struct wire_schema resident_input_schema;

struct resident_heard {
	bool is_taken; /* else its input has ended, or is full */
};
extern const struct wire_schema resident_heard_schema;

struct resident_output {
	uint8_t stream; /* 1 or 2 */
	struct bytes bytes;
};
extern const struct wire_schema resident_output_schema;

struct resident_ended {
	bool has_exit_code; /* else a signal ended it */
	uint32_t exit_code;
};
extern const struct wire_schema resident_ended_schema;

struct resident_lost {
	bool is_taken_over; /* else it was dropped */
};
extern const struct wire_schema resident_lost_schema;

#endif
