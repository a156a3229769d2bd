/*
 * Where the gateway's sockets and state are, for this user and environment.
 */
#ifndef SANDBOX_HOST_SESSION_DIRS_H
#define SANDBOX_HOST_SESSION_DIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/* 0, or -1 when a path is too long. */
int session_run_dir(char *out, size_t size);
int session_state_dir(char *out, size_t size);
/* Number n, from 0, of those that this user's own gateway would have, whichever
 * is used now. The same; -1 also when there are no more. */
int session_own_run_dir(size_t n, char *out, size_t size);

/* Does a daemon hold its run directory by that file of it? It does from before
 * it listens until it has stopped. One of another user can not be seen. */
bool session_is_held(const char *lock);

/* A daemon that took its run directory listens so much later at most. */
#define SESSION_START_MAX_MS 3000

/* Is the gateway that serves every user just starting? Root keeps its lock to
 * itself: who could open it could hold it. When it was taken can be seen. */
bool session_just_taken(void);

/* Is whoever listens at the other end of a Unix socket root or our own user?
 * Below /tmp anybody can make a directory with our name before we do. 0, or
 * -1 (ERR_DENIED). */
int session_check_peer(int fd, const char *path, struct err *err);

#endif
