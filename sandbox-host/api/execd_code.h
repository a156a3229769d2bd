/*
 * /code: Python that keeps its variables. A context is a process in the
 * sandbox that stays (execd_resident.h): the sandbox's own python3 with
 * IPython and a program of ours (execd_code_program.c), which reads cells from
 * descriptor 0 and says what they do on descriptor 1; both are lines of JSON,
 * and what comes is as untrusted as any output of a command.
 *
 *	execd_code.c	-> requests
 *	execd_cell.c	-> one that waits for a context, or runs in it
 */
#ifndef SANDBOX_HOST_API_EXECD_CODE_H
#define SANDBOX_HOST_API_EXECD_CODE_H

#include "sandbox-host/api/execd_resident.h"

#define CELL_EVENT_MAX (4 * 1024 * 1024) /* one line: a picture */
#define CELL_SYNC_MS   5000		 /* for what ran before to end */
#define CODE_MAX       (512 * 1024)

extern const char code_program[];

/* What is wanted of a context: id is its own; empty: a new one, or the default
 * one. code: to be run in it (of the arena); .data NULL: the context itself is
 * the answer. */
struct cell_wish {
	struct bytes id;
	bool is_default;
	struct bytes code;
};
void cell_begin(struct exchange *exchange, const struct cell_wish *wish);

/* As a client is told. */
json_t *context_json(struct bytes id);

#endif
