/*
 * Directories of a process before it is confined.
 */
#ifndef COMMON_DIRECTORIES_H
#define COMMON_DIRECTORIES_H

#include <sys/types.h>

#include "common/err.h"

/* Does the variable name a directory by an absolute path, or is it not set, or
 * empty? 0, or -1 (ERR_INVALID). */
int directories_check_variable(const char *name, struct err *err);

/* Make every directory of path (under PATH_MAX bytes) that is missing; the
 * last has mode, those above it 0755. 0, also where it was there; or -1. */
int directories_make(const char *path, mode_t mode, struct err *err);

#endif
