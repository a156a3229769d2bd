/*
 * The process that serves a sandbox from outside, once it is built: it asks
 * process 1 for what is wanted, and answers the daemon. What it needed to build
 * (mounts, namespaces, programs of ours) it gives up.
 *
 * What stays, and why:
 * - the files that it is given, by Landlock: at the end the workspace and an
 *   overlay's changes are settled. A domain keeps its processes from the
 *   memory of all that are not below it, as the sandbox was before: so who
 *   looks there is another process (reporter.h);
 * - of root's capabilities those for the files of the sandbox's own user;
 * - sockets: the gateway's and the daemon's, ports on the loopback.
 */
#ifndef SANDBOX_HOST_OUTSIDE_H
#define SANDBOX_HOST_OUTSIDE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

/* Compile the filters while there is time. */
void outside_prepare(void);
enum outside_right {
	OUTSIDE_READ,
	OUTSIDE_WRITE,
	OUTSIDE_REMOVE /* write, and remove it as well */
};

/* A tree, or a file, that stays reachable. */
struct outside_place {
	const char *path; /* ""; there is none */
	enum outside_right right;
};

/* Give the rest up, for ever and for all it forks: no other file can be
 * opened (where the kernel has Landlock), system calls beyond a list fail with
 * EPERM, no program can be exec'ed, no namespace or mount made. Sanitized
 * builds keep files and system calls. 0, or -1. */
int outside_confine(const struct outside_place *places, size_t count,
		    struct err *err);
/* The reporter (reporter.h), to which everything inside is shown: it may look,
 * with the files' rights of that user, and write to what it holds already. Of
 * root's rights it keeps to look anywhere, and over the user namespaces that
 * it made, the memory of what is in them. 0, or -1. */
int outside_confine_reporter(uid_t uid, gid_t gid, struct err *err);
/* The same as the first for one who only looks at what files there are, as root
 * of a user namespace or of the host: nothing else of its rights stays. 0, or
 * -1. */
int outside_confine_look(struct err *err);

#endif
