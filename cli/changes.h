/*
 * Where the changes of overlay workspaces are kept: one directory each, by
 * the id of the session, below `changes` in the caller's state directory.
 */
#ifndef CLI_CHANGES_H
#define CLI_CHANGES_H

#include <limits.h>

#include "common/err.h"

/* The directory of them all; made, 0700, with the state directory. 0, or
 * -1. */
int changes_root(char out[PATH_MAX], struct err *err);
/* That of one id (untrusted), which need not exist. 0, or -1: ERR_INVALID it
 * is no id. */
int changes_path(const char *id, char out[PATH_MAX], struct err *err);
/* The command has ended: say on stderr that changes are kept, or remove
 * the directory when there are none. */
void changes_settle(const char *id, const char *dir);

#endif
