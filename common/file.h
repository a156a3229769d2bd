/*
 * Files that are read whole.
 */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include "common/buf.h"
#include "common/err.h"

/* Append all that is left of fd (a file, or what ends) to out. 0; or -1:
 * ERR_TOO_LARGE beyond out's bound or without memory, else what read(2)
 * said. Some of it may stand in out then. */
int file_read(int fd, struct buf *out, struct err *err);
/* The same, of the file at path; the path stands in err. */
int file_read_path(const char *path, struct buf *out, struct err *err);

#endif
