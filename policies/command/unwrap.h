/*
 * Commands that run other commands: `env X=1 CMD`, `timeout 5 CMD`,
 * `xargs CMD`, `find -exec CMD`, `sh -c LINE`. What they run is judged as
 * well, so it is found here.
 */
#ifndef POLICIES_COMMAND_UNWRAP_H
#define POLICIES_COMMAND_UNWRAP_H

#include "policies/command/call.h"

#define UNWRAP_MAX 16 /* of one command */

struct unwrapped {
	struct command_call calls[UNWRAP_MAX];
	size_t call_count;
	struct bytes line; /* of `sh -c`, eval, trap */
	bool has_line;
	size_t line_at; /* where it stands */
	/* env's, as words "NAME=value". */
	const struct shell_word *assignments;
	size_t assignment_count;
	bool runs_anywhere;    /* find -execdir: nobody can tell where */
	const char *ambiguous; /* what is run cannot be told; NULL: it can */
};

/* Find what the call runs; none: it is no wrapper. Lives as long as arena. */
void command_unwrap(const struct command_call *call, struct arena *arena,
		    struct unwrapped *out);

#endif
