/*
 * The record of one sandbox: a file that a daemon started later finds it by.
 * Written whole under another name and moved in place; a file that is cut or
 * changed is refused whole.
 */
#ifndef SANDBOX_HOST_DAEMON_RECORD_H
#define SANDBOX_HOST_DAEMON_RECORD_H

#include "sandbox-host/flow/messages.h"

#define RECORD_BYTES_MAX (64 * 1024)

struct record {
	const struct host_sandbox *sandbox; /* one */
	size_t sandbox_count;
	uint32_t supervisor_pid;
	uint64_t supervisor_start; /* as /proc/PID/stat has it */
	bool owns_workspace;
	bool is_pooled;
	bool is_bounded; /* struct spawn_for */
};

/* In the directory dir. 0, or -1. */
int record_write(int dir, const struct record *record, struct err *err);
/* Read it; what it holds lives in arena. 0; -1: ERR_MISSING, or ERR_INVALID
 * when it is damaged. */
int record_read(int dir, struct arena *arena, struct record *record,
		struct err *err);
/* The supervisor's last word, if it left one. 0, or -1 as above. */
int record_read_end(int dir, struct arena *arena,
		    struct supervisor_state *state, struct err *err);

/* When a process was started, in ticks since boot; 0: there is none. */
uint64_t record_start_of(pid_t pid);

#endif
