/*
 * The certificates that the host trusts, read and made into what a sandbox gets
 * of them before there is one: both take longer than all of its mounts. What
 * was made ready is used for the file that it was made of, as that was, and for
 * no other.
 */
#ifndef SANDBOX_HOST_ROOTS_H
#define SANDBOX_HOST_ROOTS_H

#include <stdbool.h>

#include "common/bytes.h"

#define ROOTS_PATHS 5
/* Where systems keep their bundle of CAs: the first that exists is it. */
extern const char *const roots_paths[ROOTS_PATHS];

struct roots {
	struct bytes text;  /* PEM, and a line feed */
	struct bytes bags;  /* truststore.h */
	unsigned bag_count; /* 0: none was made */
};

/* Make the first of these files that exists ready, if it can be. */
void roots_prepare(const char *const *paths, size_t count);
/* Was it made of this file, as it is now? Then *roots borrows it until
 * roots_release(). */
bool roots_take(int fd, struct roots *roots);
void roots_release(void);

#endif
