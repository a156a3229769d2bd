/*
 * What a sandbox was built from that can be changed behind it: which files, as
 * of when.
 */
#ifndef SANDBOX_HOST_DAEMON_BUILT_H
#define SANDBOX_HOST_DAEMON_BUILT_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "sandbox-host/flow/sandbox_spec.h"

struct daemon;

struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};
struct built_of {
	struct stamp policy, image;
};

/* What one would be built from now: the default policy, if request says none,
 * and the image. */
struct built_of built_of(const struct daemon *daemon,
			 const struct sandbox_request *request);
/* Is it what it was then? */
bool built_is_same(const struct daemon *daemon,
		   const struct sandbox_request *request,
		   const struct built_of *built);

#endif
