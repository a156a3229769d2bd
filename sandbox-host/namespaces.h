/*
 * A process in namespaces of its own.
 */
#ifndef SANDBOX_HOST_NAMESPACES_H
#define SANDBOX_HOST_NAMESPACES_H

#include <sys/types.h>

#include "common/err.h"

/* Like fork(), into new user, mount, pid, ipc, uts and cgroup namespaces;
 * signal handlers are reset. 0 in the child; in the parent its pid, and
 * *pidfd; -1. */
pid_t namespaces_fork(int *pidfd, struct err *err);
/* For the child, before anything else: a net namespace, which takes as long as
 * all the others, while its parent maps its ids. 0, or -1. */
int namespaces_enter_network(struct err *err);

#endif
