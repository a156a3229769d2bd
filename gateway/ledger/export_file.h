/*
 * A file that the record is exported to: a line for each row, as `audit
 * export` has them, in their order, each once. Where it goes on is told by the
 * file itself: after the row that stands in its last line. So whoever dies
 * while writing, be it the machine, leaves nothing that the next one cannot
 * mend: at most the beginning of a line, which is cut off.
 *
 * The file is opened by somebody else, O_APPEND. What stands in it is
 * untrusted: one that ends with anything but a row of this record is not
 * touched.
 */
#ifndef GATEWAY_LEDGER_EXPORT_FILE_H
#define GATEWAY_LEDGER_EXPORT_FILE_H

#include <sys/types.h>

#include "gateway/ledger/store.h"

/* How much of a file's end is looked at: more than two lines. */
#define EXPORT_TAIL_MAX (32 * 1024)

struct export_file {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;
	uint64_t told; /* the rows up to this one stand there */
};

/* Is it the file that fd has? */
bool export_file_is(const struct export_file *file, int fd);
/* Go on in the file that fd has (taken in any case): after its last row, or,
 * when it is empty, after file->told. 0; or -1, and file has none. */
int export_file_open(struct export_file *file, struct store *store, int fd,
		     struct err *err);
/* Write some rows that follow. 1: there are more; 0: all stand there; -1:
 * open it again. */
int export_file_write(struct export_file *file, struct store *store,
		      struct err *err);
void export_file_close(struct export_file *file);

#endif
