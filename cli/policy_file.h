/*
 * A policy as a file that somebody wrote: read, compiled, its errors told.
 */
#ifndef CLI_POLICY_FILE_H
#define CLI_POLICY_FILE_H

#include "cli/cli.h"
#include "policies/policy.h"

/* Read path ("-": stdin) into text, an empty buf, and compile it. variables
 * as policy_compile() has them. NULL when it can not be read or has errors:
 * they were told on stderr then, and the exit code is EXIT_INVALID. */
struct policy *policy_file_read(const char *path,
				const struct policy_variables *variables,
				struct buf *text);

/* The same with the errors, as people read them, appended to report; *count
 * is how many. Nothing is told. */
struct policy *policy_file_try(const char *path,
			       const struct policy_variables *variables,
			       struct buf *text, struct buf *report,
			       size_t *count);

#endif
