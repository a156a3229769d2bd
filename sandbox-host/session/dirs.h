/*
 * Where the gateway's sockets and state are, for this user and environment.
 */
#ifndef SANDBOX_HOST_SESSION_DIRS_H
#define SANDBOX_HOST_SESSION_DIRS_H

#include <stddef.h>

/* 0, or -1 when a path is too long. */
int session_run_dir(char *out, size_t size);
int session_state_dir(char *out, size_t size);

#endif
