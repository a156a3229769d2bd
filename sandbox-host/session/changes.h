/*
 * Where the changes of overlay workspaces are kept: one directory each, by
 * the id of the session, or of the service's sandbox, below `changes` in the
 * caller's state directory.
 */
#ifndef SANDBOX_HOST_SESSION_CHANGES_H
#define SANDBOX_HOST_SESSION_CHANGES_H

#include <limits.h>
#include <stddef.h>

#include "common/err.h"

/* The directory of them all; made, 0700, with the state directory. 0, or
 * -1. */
int changes_root(char out[PATH_MAX], struct err *err);
/* That of one id (untrusted), which need not exist. 0, or -1: ERR_INVALID it
 * is no id. */
int changes_path(const char *id, char out[PATH_MAX], struct err *err);
/* What changed them has ended: how many changes are kept. The directory is
 * removed when there are none, or it was never begun. 0, or -1. */
int changes_settle(const char *dir, size_t *found, struct err *err);

#endif
