/*
 * The files of one sandbox, over a channel to the agent inside; one question
 * at a time, blocking. What it answers is untrusted: checked against what
 * was asked before anybody sees it (flow/messages_files.h).
 *
 * Functions return 0, or -1 with err: ERR_MISSING when there is no such
 * file, ERR_DENIED when the sandbox may not.
 */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "cli/host.h"

struct files {
	struct host host;
	struct rpc *rpc;    /* NULL: it hung up */
	struct arena arena; /* of the page that was read last */
	struct file_walk walk;
};

/* An entry without its texts. */
struct file_shown {
	enum file_type type;
	uint64_t size;
	unsigned mode; /* permissions alone */
};

/* Reach the sandbox. EXIT_OK, or the exit code of what was told. */
int files_open(struct files *files, struct bytes id);
void files_close(struct files *files);

int files_show(struct files *files, const char *path, struct file_shown *shown,
	       struct err *err);
/* The first page of what is below path, and the next ones. entries borrow
 * until the next page; *more: there is another. */
int files_walk(struct files *files, const char *path, struct file_page *page,
	       struct err *err);
int files_walk_on(struct files *files, struct file_page *page, struct err *err);
/* Write all of a file to fd. */
int files_read(struct files *files, const char *path, int fd, struct err *err);
/* Write all that fd has to a file. */
int files_write(struct files *files, const char *path, unsigned mode, int fd,
		struct err *err);
int files_mkdir(struct files *files, const char *path, unsigned mode,
		struct err *err);
int files_link(struct files *files, const char *path, const char *target,
	       struct err *err);

#endif
