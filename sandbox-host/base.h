/*
 * What the root of a sandbox begins with, by little more than who it is: the
 * host's directories, /proc, /dev, /tmp. Process 1 of the next service can make
 * it before anybody knows which sandbox that is (early.h); nothing of any
 * sandbox is in it.
 */
#ifndef SANDBOX_HOST_BASE_H
#define SANDBOX_HOST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct plan;

/* All that it depends on, beside the host. */
struct base {
	uint32_t uid, gid;    /* whose the workspace is */
	bool has_read;	      /* struct sandbox_spec's */
	uint64_t tmpfs_bytes; /* limits_tmpfs() */
};

#define BASE_TEXT_MAX 64

/* As an argument of a program, and back. 0, or -1: it is none. */
void base_text(const struct base *base, char text[BASE_TEXT_MAX]);
int base_parse(const char *text, struct base *base);

/* Does plan begin with all of first's steps, for the same user? */
bool base_begins(const struct plan *first, const struct plan *plan);

/* Which directories and files of the host's its steps show, to see whether
 * they are still those: names may lead elsewhere by now, without any mount
 * having changed. */
struct base_shown {
	dev_t device; /* both 0: there was none */
	ino_t inode;
};
/* As many as plan has steps. */
void base_look(const struct plan *plan, struct base_shown *shown);
bool base_is_shown(const struct plan *plan, const struct base_shown *shown);

#endif
