/*
 * The parts of confine() that are layers of their own. Internal to
 * confine.c and its tests.
 */
#ifndef COMMON_CONFINE_PARTS_H
#define COMMON_CONFINE_PARTS_H

#include "common/confine.h"

/* Deny every file that spec->paths does not cover, TCP bind, TCP connect
 * unless spec->may_connect, abstract Unix sockets and signals to others: as
 * much of it as this kernel knows. Says in the log once when it knows none.
 * Needs no_new_privs. 0, or -1. */
int confine_landlock(const struct confine_spec *spec, struct err *err);

/* Kill the process at any system call but the base set and spec->syscalls,
 * and at any of another architecture; no mapping becomes executable. Needs
 * no_new_privs. 0, or -1 (also for a name that no architecture has). */
int confine_seccomp(const struct confine_spec *spec, struct err *err);

#endif
