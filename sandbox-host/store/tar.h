/*
 * A tar (POSIX.1-1988 and -2001, GNU's long names and large numbers), one
 * entry after the other. All of it is untrusted: names are as they stand, and
 * whoever uses one checks it. What is not understood is refused.
 */
#ifndef SANDBOX_HOST_STORE_TAR_H
#define SANDBOX_HOST_STORE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

#define TAR_BLOCK    512
#define TAR_NAME_MAX 4096

enum tar_kind {
	TAR_FILE,
	TAR_DIRECTORY,
	TAR_SYMLINK,
	TAR_HARD_LINK,
	TAR_OTHER /* a device or a pipe */
};

struct tar_entry {
	enum tar_kind kind;
	char path[TAR_NAME_MAX]; /* not empty */
	char link[TAR_NAME_MAX];
	unsigned mode; /* & 07777 */
	int64_t time;  /* s since 1970 */
	uint64_t size; /* of what follows; 0 unless TAR_FILE */
};

/* Give up to size bytes; 0 at the end, -1 when it failed. */
typedef ssize_t tar_read_fn(void *owner, void *out, size_t size);

struct tar {
	tar_read_fn *read;
	void *owner;
	uint64_t left;	  /* of the entry's content */
	unsigned padding; /* behind it */
};

/* The next entry; what was not read of the last one is skipped. 1, 0 at the
 * end, or -1. */
int tar_next(struct tar *tar, struct tar_entry *entry, struct err *err);
/* Some of the entry's content. 0 at its end, or -1. */
ssize_t tar_content(struct tar *tar, void *out, size_t size, struct err *err);

#endif
