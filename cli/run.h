/*
 * One command in a sandbox of its own: what `run` and `srt` were told.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/cli.h"
#include "sandbox-host/session/run_env.h"

struct run_options {
	const char *policy;   /* a file; NULL: the default */
	const char *settings; /* sandbox-runtime's, instead of a policy */
	bool has_settings;    /* with settings NULL: those that it has itself */
	bool shows_policy;    /* what the settings became, on stderr */
	char *const *said;    /* the command as the settings have it; NULL:
				 command */
	int control_fd;	      /* more settings come there; 0: none do */
	const char *repo;
	const char *branch;
	const char *workspace;
	const char *events;
	const char *env[RUN_ENV_MAX];
	size_t env_count;
	char **command;
	bool wants_help;
};

/* Run the command. Its exit code, or one of ours after it was told why. */
int run_command(const struct run_options *options);

#endif
