/*
 * How much a tree of files takes of its file system. Whoever makes it
 * (untrusted) may go on meanwhile: the sum is of what was met.
 */
#ifndef COMMON_USAGE_H
#define COMMON_USAGE_H

#include <stdint.h>

#include "common/err.h"

#define USAGE_DEPTH_MAX 256 /* directories within each other */

struct usage {
	uint64_t bytes;	  /* blocks; a file with n names counts 1/n for each */
	uint64_t entries; /* names */
	uint64_t closed;  /* directories that could not be looked into */
};

/* Add what stands below directory (borrowed): nothing is followed, and other
 * file systems are left out. 0, or -1: it can not be measured (ERR_TOO_LARGE:
 * it is too deep). */
int usage_add(int directory, struct usage *usage, struct err *err);

#endif
