/*
 * /code: Python that keeps its variables. A context is a process in the
 * sandbox: the sandbox's own python3 with IPython and a program of ours
 * (execd_code_program.c), which reads cells from descriptor 0 and says what
 * they do on descriptor 1; both are lines of JSON, and what comes is as
 * untrusted as any output of a command.
 *
 *	execd_code.c	-> contexts, requests
 *	execd_kernel.c	-> one context's process, and the cell that it runs
 */
#ifndef SANDBOX_HOST_API_EXECD_CODE_H
#define SANDBOX_HOST_API_EXECD_CODE_H

#include "sandbox-host/api/execd.h"

#define KERNELS_MAX	    64 /* of all sandboxes */
#define KERNELS_SANDBOX_MAX 8
#define KERNEL_IDLE_MS	    (30ull * 60 * 1000)
#define KERNEL_EVENT_MAX    (4 * 1024 * 1024) /* one line: a picture */
#define CODE_MAX	    (512 * 1024)

struct cell;

struct kernel {
	struct execd *execd;
	char id[COMMAND_ID_MAX + 1];
	char sandbox[HOST_ID_MAX + 1];
	bool is_default; /* where a request names no context */
	bool is_ready;
	struct exec_client *exec;
	struct buf lines;
	struct cell *cell; /* that waits for it, or runs; NULL */
	bool is_busy;	   /* a cell runs, perhaps without its client */
	uint64_t used_ms;  /* monotonic */
	struct kernel *next, *prev;
};

extern const char kernel_program[];

/* ---- execd_kernel.c ---- */

/* Forget it, and end what runs. */
void kernel_free(struct kernel *kernel);
void kernel_interrupt(struct kernel *kernel);
/* Answer with the context (code.data NULL), or run code in it, once it is
 * ready; a new one is started. code lives in the arena. */
void cell_begin(struct exchange *exchange, struct kernel *kernel,
		struct bytes code);
json_t *kernel_json(const struct kernel *kernel);

#endif
