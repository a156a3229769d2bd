/*
 * The process that serves a sandbox from outside, once it is built: it reads
 * paths and memory of the programs inside, and answers the daemon. What it
 * needed to build (mounts, namespaces, programs of ours) it gives up.
 *
 * What stays, and why:
 * - files as its user has them: the reporter looks at what paths inside lead
 *   to, at the end the workspace and an overlay's changes are settled;
 *   Landlock can not be put on it, since a domain keeps its processes from
 *   the memory of all that are not below it, as the sandbox was before;
 * - of root's capabilities those for the files of the sandbox's own user, and
 *   for the memory of its processes. Other rights over those come with being
 *   the maker of their user namespace;
 * - sockets: the gateway's and the daemon's, ports on the loopback.
 */
#ifndef SANDBOX_HOST_OUTSIDE_H
#define SANDBOX_HOST_OUTSIDE_H

#include "common/err.h"

/* Compile the filter while there is time. */
void outside_prepare(void);
/* Give the rest up, for ever and for all it forks: system calls beyond a
 * list fail with EPERM, no program can be exec'ed, no namespace or mount
 * made. Sanitized builds keep their system calls. 0, or -1. */
int outside_confine(struct err *err);
/* The same for one who only looks at what files there are, as root of a user
 * namespace or of the host: nothing else of its rights stays. 0, or -1. */
int outside_confine_look(struct err *err);

#endif
