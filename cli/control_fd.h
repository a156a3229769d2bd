/*
 * srt's --control-fd: settings of sandbox-runtime, one JSON object a line,
 * that come while a command runs. Each that is right makes its lists of
 * domains those of the session; one that is wrong is told and dropped. A
 * process of its own reads them; the command has no descriptor of it.
 */
#ifndef CLI_CONTROL_FD_H
#define CLI_CONTROL_FD_H

#include <sys/types.h>

#include "common/bytes.h"
#include "common/err.h"

#define CONTROL_FD_FIRST 3

struct control_fd {
	pid_t pid; /* 0: there is none */
};

struct control_fd_spec {
	int fd;
	const char *session;
	struct bytes settings; /* that it began with */
	char *const *words;    /* the command */
};

/* The descriptor that text names: inherited, to read from. -1 with err. */
int control_fd_open(const char *text, struct err *err);
/* Begin to read; the descriptor is not open here any more. 0, or -1. */
int control_fd_start(struct control_fd *control,
		     const struct control_fd_spec *spec, struct err *err);
void control_fd_stop(struct control_fd *control);

#endif
