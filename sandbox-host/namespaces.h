/*
 * A process in namespaces of its own.
 */
#ifndef SANDBOX_HOST_NAMESPACES_H
#define SANDBOX_HOST_NAMESPACES_H

#include <sys/types.h>

#include "common/err.h"

/* Like fork(), into new user, mount, pid, net, ipc, uts and cgroup
 * namespaces; signal handlers are reset. 0 in the child; in the parent its
 * pid, and *pidfd; -1. */
pid_t namespaces_fork(int *pidfd, struct err *err);

#endif
