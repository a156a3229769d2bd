/*
 * What the files of overlay.h share.
 */
#ifndef SANDBOX_HOST_OVERLAY_PARTS_H
#define SANDBOX_HOST_OVERLAY_PARTS_H

#include <limits.h>
#include <sys/types.h>

#include "common/arena.h"
#include "sandbox-host/overlay.h"
#include "sandbox-host/plan.h"

/* What stood in the record. */
struct overlay_record {
	const char *workspace;
	uint64_t device, inode; /* the workspace's own */
	uid_t uid;		/* whose files are */
	gid_t gid;
	int64_t start_ns;  /* since 1970 */
	int64_t offset_ns; /* of that clock from the one since boot */
	const char *boot;  /* which boot that was */
	/* What may not be written, as steps of the plan. */
	struct plan_step *steps;
	size_t step_count;
};

struct overlay {
	struct arena arena;
	struct overlay_record record;
	char dir[PATH_MAX];
	int fd;		  /* dir */
	int upper, lower; /* the layer and the user's directory */
	int lock;	  /* -1: only looked at */
};

/* Write the record of a plan into the directory fd. 0, or -1. */
int overlay_record_write(int fd, const struct plan *plan, struct err *err);
/* Read it; strings live in arena. ERR_MISSING: there is none. 0, or -1. */
int overlay_record_read(int fd, struct arena *arena,
			struct overlay_record *record, struct err *err);
/* Was the clock set back since, so that times prove nothing? */
bool overlay_record_is_out_of_step(const struct overlay_record *record);

/* The names in a directory, sorted. */
struct overlay_names {
	char **items;
	size_t count, size;
};

/* At most *budget of them, which is lowered. 0, or -1. */
int overlay_names_read(int dir, size_t *budget, struct overlay_names *names,
		       struct err *err);
bool overlay_names_has(const struct overlay_names *names, const char *name);
void overlay_names_release(struct overlay_names *names);

/* A directory in dir, no link, on the same mount. -1: errno. */
int overlay_open_dir(int dir, const char *name);
/* Remove name in dir and all below it, of the user's: nothing is moved. One
 * that is closed to its owner is opened first. 0, or -1. */
int overlay_remove(int dir, const char *name, struct err *err);
/* The same of ours, however many and deep: what is below it waits in dir for
 * its turn. One that was interrupted goes on the next time. 0, or -1. */
int overlay_clear(int dir, const char *name, struct err *err);

/* Putting changes into the user's directory. */
struct overlay_apply {
	int stage;  /* for new files; -1: on another file system */
	bool gives; /* files to uid and gid */
	uid_t uid;
	gid_t gid;
	struct overlay_link *links; /* hard-linked files applied so far */
	size_t link_count;
	struct overlay_opened *opened; /* directories closed again at the end */
	size_t opened_count;
	int lower; /* the user's directory */
};

int overlay_apply_begin(struct overlay_apply *apply,
			const struct overlay *overlay, struct err *err);
void overlay_apply_end(struct overlay_apply *apply);
int overlay_apply(struct overlay_apply *apply,
		  const struct overlay_change *change, struct err *err);

#endif
