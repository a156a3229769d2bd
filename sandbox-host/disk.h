/*
 * What holds limits.disk as a whole where no file system of ours does: in an
 * overlay's changes, over an image, in a workspace that is written. A process
 * of ours looks again and again at how much these trees hold (common/usage.h)
 * and says once when it is too much: then the sandbox is to be ended. It is no
 * wall: until the next look as much can be written as the disk takes, and a
 * file that was removed while it is open is not seen (RLIMIT_FSIZE bounds each
 * one, limits.h).
 */
#ifndef SANDBOX_HOST_DISK_H
#define SANDBOX_HOST_DISK_H

#include <sys/types.h>

#include "common/err.h"
#include "sandbox-host/plan.h"
#include "sandbox-host/report.h"

#define DISK_TREES_MAX	  3
#define DISK_SLACK	  (1 << 20) /* of the file system itself */
#define DISK_PAUSE_MS	  100	    /* between two looks, the least */
#define DISK_PAUSE_MAX_MS 5000	    /* the most */
#define DISK_PAUSE_SHARE  20	    /* so many times as long as a look takes */

struct disk_watch {
	uint64_t bytes_max; /* the caller's: 0: without bound */
	bool has_workspace; /* the same: the command writes to it */
	int users; /* the sandbox's user namespace (taken), for who is no root;
		      or -1 */
	int fd;	   /* readable: it is too much; -1: nothing is watched */
	pid_t pid;
};

/* Watch what the sandbox of plan writes. Nothing is, when there is no bound or
 * all it writes are private file systems. What a workspace held before does not
 * count: it is looked at before this returns. 0, or -1. */
int disk_watch_begin(struct disk_watch *watch, const struct plan *plan,
		     struct err *err);
/* It became readable: say why (report), and the same in words. Then nothing is
 * watched any more, and the sandbox is to be ended. */
void disk_watch_take(struct disk_watch *watch, struct report *report,
		     struct err *words);
void disk_watch_end(struct disk_watch *watch);

#endif
