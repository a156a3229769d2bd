/*
 * What `sandbox cp` copies, once it is known from where to where.
 */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "cli/files.h"

#define COPY_DEPTH_MAX FILE_DEPTH_MAX

/* Say on stderr that something was left out. */
void copy_say(const char *path, const char *why);

/* A file or a directory of this host to path inside, which is its whole new
 * name. *is_whole: nothing was left out. 0, or -1. */
int copy_in(struct files *files, const char *from, const char *path,
	    bool *is_whole, struct err *err);

/* The reverse. Names and links of a tree are the sandbox's: nothing is
 * written but below `to`, no link is followed there, and those that lead out
 * of it are not made. */
int copy_out(struct files *files, const char *path, const char *to,
	     bool *is_whole, struct err *err);

#endif
