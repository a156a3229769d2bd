/*
 * Landlock: a second layer under the mounts. Reading and executing stay as
 * the mounts have them; writing is for the named trees alone; no signal and
 * no abstract socket leaves the domain. By the kernel's ABI, from 2 on; an
 * older kernel has the mounts, which are enough.
 */
#ifndef SANDBOX_HOST_LANDLOCK_H
#define SANDBOX_HOST_LANDLOCK_H

#include <stdbool.h>

#include "common/err.h"

/* This kernel's ABI; below 1: it has none. */
long landlock_abi(void);
/* A ruleset's descriptor; -1 with err, -2 when this kernel has none. */
int landlock_begin(struct err *err);
/* The same for a process of ours outside, which tells others what to do:
 * its signals are left alone, and it connects to nothing by TCP. */
int landlock_begin_outside(struct err *err);
/* Let everything below path be read and executed, or written too. */
int landlock_allow(int ruleset, const char *path, bool is_writable,
		   struct err *err);
/* Let a directory be removed by its name, which gives that for all that is
 * beside it. */
int landlock_allow_removal(int ruleset, const char *path, struct err *err);
/* Let a standard descriptor that is a file or a device be opened again by
 * its name in /proc; one that has no place in a tree stays as it is. */
void landlock_allow_fd(int ruleset, int fd);
/* Enter. no_new_privs must be set. 0, or -1. */
int landlock_enter(int ruleset, struct err *err);

#endif
