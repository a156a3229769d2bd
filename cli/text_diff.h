/*
 * A unified diff of two files, made by diff(1).
 */
#ifndef CLI_TEXT_DIFF_H
#define CLI_TEXT_DIFF_H

#include "common/buf.h"
#include "common/err.h"

#define TEXT_DIFF_FILE_MAX (8 * 1024 * 1024) /* larger ones are not shown */

/* Append the diff of two open files to out; -1 for one that is not there.
 * path (untrusted) names them. Files that are no text, or too large, give
 * one line. 0, or -1. */
int text_diff(int before, int after, const char *path, struct buf *out,
	      struct err *err);

#endif
