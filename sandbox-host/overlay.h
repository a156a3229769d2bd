/*
 * What a sandbox changed in an overlay workspace, kept apart from the
 * user's directory until somebody decides: looked at, committed or
 * discarded.
 *
 *	spec.workspace_mode = SANDBOX_OVERLAY;
 *	spec.changes = "/home/u/.local/state/sallyport/changes/s-1";
 *	... sandbox_start() to sandbox_free() ...
 *	struct overlay *overlay = overlay_open(spec.changes, use, &err);
 *	overlay_each(overlay, on_change, owner, &err);
 *	overlay_commit(overlay, &wish, &result, &err);
 *	overlay_discard(overlay, &err);
 *	overlay_close(overlay);
 *
 * A directory of changes (0700, the caller's) holds `record` (which
 * directory, since when, and what may not be written there), `lock` (held
 * while a sandbox or a commit uses the layers), `stage` and `layers`.
 *
 * Everything in layers/upper was written by the sandbox: names, kinds,
 * modes, texts and links are untrusted, nothing in it is followed. The
 * user's directory is written by overlay_commit() alone.
 */
#ifndef SANDBOX_HOST_OVERLAY_H
#define SANDBOX_HOST_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/err.h"

#define OVERLAY_LAYERS	    "layers"
#define OVERLAY_ENTRIES_MAX 1000000 /* names looked at in one walk */
#define OVERLAY_DEPTH_MAX   128	    /* directories in each other */
#define OVERLAY_LINKS_MAX   65536   /* hard-linked files kept linked */

enum overlay_kind { OVERLAY_ADDED, OVERLAY_CHANGED, OVERLAY_DELETED };

/* OTHER: a pipe, a socket or what can not be read; never committed. */
enum overlay_type {
	OVERLAY_FILE,
	OVERLAY_DIRECTORY,
	OVERLAY_LINK,
	OVERLAY_OTHER
};

/* One difference. What becomes another type is deleted, then added. Valid
 * during the call. */
struct overlay_change {
	enum overlay_kind kind;
	enum overlay_type type; /* of what is there now; deleted: was */
	const char *path;	/* below the workspace; untrusted */
	const char *name;	/* its last component */
	/* A deleted directory stands for all of it. NULL: was, is nothing. */
	const struct stat *before, *after;
	/* The directories they are in: the user's (-1: there is none) and the
	 * layer's. */
	int before_dir, after_dir;
};

enum overlay_answer { OVERLAY_GO_ON, OVERLAY_SKIP_BELOW, OVERLAY_FAIL };

/* OWN: nobody else uses them meanwhile. DROP: the same, and they can only be
 * discarded: whatever became of the record and of the workspace. */
enum overlay_use { OVERLAY_LOOK, OVERLAY_OWN, OVERLAY_DROP };

struct overlay;

/* Open a directory of changes. NULL with err: ERR_MISSING there is none,
 * ERR_DENIED a sandbox or a commit uses it, ERR_INVALID it is damaged or the
 * workspace is another directory by now. */
struct overlay *overlay_open(const char *dir, enum overlay_use use,
			     struct err *err);
void overlay_close(struct overlay *overlay);

/* The user's directory, and when the sandbox started (s since 1970). */
const char *overlay_workspace(const struct overlay *overlay);
int64_t overlay_started(const struct overlay *overlay);

/* Tell every difference, sorted by name, directories before what is in
 * them. 0, or -1. */
int overlay_each(struct overlay *overlay,
		 enum overlay_answer (*on_change)(
			 void *owner, const struct overlay_change *change,
			 struct err *err),
		 void *owner, struct err *err);
/* Open a regular file of a change to read it. -1: errno. */
int overlay_open_before(const struct overlay_change *change);
int overlay_open_after(const struct overlay_change *change);

enum overlay_outcome { OVERLAY_APPLIED, OVERLAY_REFUSED, OVERLAY_CONFLICT };

struct overlay_wish {
	/* Below the workspace; each stands for what is below it. NULL-ended;
	 * none: everything. */
	const char *const *paths;
	bool is_forced; /* over what changed in the workspace meanwhile */
	bool is_dry;	/* look for conflicts alone; OVERLAY_LOOK is enough */
	/* reason: NULL for what was applied. */
	void (*on_outcome)(void *owner, enum overlay_outcome outcome,
			   const struct overlay_change *change,
			   const char *reason);
	void *owner;
};

struct overlay_result {
	size_t applied, refused, conflicts;
};

/* Write the changes into the user's directory; needs OVERLAY_OWN. Protected
 * and hidden names, git's hooks and settings, new repositories, pipes and
 * sockets are refused and told. With a conflict, unless is_forced, nothing
 * is written at all. A file appears whole or not at all: made in `stage` and
 * moved where both are one file system, otherwise made without a name and
 * linked (where one stood there, it is missing for a moment). Nothing else
 * ever has a name in the user's directory. A directory that its owner may not
 * write is opened meanwhile and closed again. Set-id bits and extended
 * attributes do not pass. 0, or -1: what was applied stays applied, and no
 * change is lost. */
int overlay_commit(struct overlay *overlay, const struct overlay_wish *wish,
		   struct overlay_result *result, struct err *err);
/* Remove the directory of changes; needs OWN or DROP. 0, or -1. */
int overlay_discard(struct overlay *overlay, struct err *err);

struct plan;

/* For sandbox.c: make the layers that a plan needs, or take up those that
 * are there. *lock: close it when the sandbox has ended. 0, or -1. */
int overlay_begin(const struct plan *plan, int *lock, struct err *err);

#endif
