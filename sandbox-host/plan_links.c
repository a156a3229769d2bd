/*
 * Other names of what is protected or hidden: a hard link is the same file
 * without the mount over it. Whoever made one before the start would have
 * left a way around; so each such name in a tree that can be reached gets
 * the same mount.
 */
#include "sandbox-host/plan_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "sandbox-host/walk.h"

#define FILES_MAX   4096    /* with more names than one */
#define INSIDE_MAX  20000   /* entries of one protected directory */
#define ENTRIES_MAX 1000000 /* of one tree */
#define LOOKS_MAX   16

struct linked {
	dev_t device;
	ino_t inode;
	enum plan_kind kind; /* what is done to it: HIDE or PROTECT */
};

struct links {
	struct plan *plan;
	struct linked *files;
	size_t count;
	enum plan_kind kind; /* of the step that is looked at */
	size_t gone; /* moved, it may be, to where it was not looked for */
};

static int add_file(struct links *links, const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink < 2)
		return 0;
	if (links->count == FILES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "%s: too many protected files have other names",
			       path);
	links->files[links->count++] =
		(struct linked){st.st_dev, st.st_ino, links->kind};
	return 0;
}

static enum walk_answer on_inside(void *owner, const struct walk_entry *entry,
				  struct err *err)
{
	if (entry->is_directory)
		return WALK_INTO;
	return add_file(owner, entry->path, err) < 0 ? WALK_FAIL : WALK_SKIP;
}

/* The files that a step covers. /proc and its like have no other names. */
static int collect(struct links *links, const struct plan_step *step,
		   struct err *err)
{
	struct walk walk = {.entries_max = INSIDE_MAX,
			    .depth_max = WALK_DEPTH_MAX,
			    .on_entry = on_inside,
			    .owner = links};
	struct stat st;

	links->kind = step->kind;
	if (!plan_is_bound(links->plan, step->target) ||
	    lstat(step->target, &st) < 0)
		return 0;
	return S_ISDIR(st.st_mode) ? walk_tree(&walk, step->target, err)
				   : add_file(links, step->target, err);
}

static const struct linked *find(const struct links *links,
				 const struct stat *st)
{
	for (size_t i = 0; i < links->count; i++)
		if (links->files[i].device == st->st_dev &&
		    links->files[i].inode == st->st_ino)
			return &links->files[i];
	return NULL;
}

/* What is only protected can be read. */
static bool is_covered(const struct plan *plan, const char *path,
		       enum plan_kind kind)
{
	if (plan_is_hidden(plan, path))
		return true;
	for (size_t i = 0; kind == PLAN_PROTECT && i < plan->step_count; i++)
		if (plan->steps[i].kind == PLAN_PROTECT &&
		    plan_is_within(path, plan->steps[i].target))
			return true;
	return false;
}

static enum walk_answer on_entry(void *owner, const struct walk_entry *entry,
				 struct err *err)
{
	struct links *links = owner;
	const struct linked *file;
	const char *path;
	struct stat st;

	if (entry->is_directory)
		return WALK_INTO;
	if (lstat(entry->path, &st) < 0) {
		links->gone += errno == ENOENT || errno == ENOTDIR;
		return WALK_SKIP;
	}
	if (!S_ISREG(st.st_mode) || st.st_nlink < 2)
		return WALK_SKIP;
	file = find(links, &st);
	if (!file || is_covered(links->plan, entry->path, file->kind))
		return WALK_SKIP;
	path = plan_format(links->plan, err, "%s", entry->path);
	if (!path || plan_add(links->plan,
			      (struct plan_step){.kind = file->kind,
						 .flags = PLAN_OTHER,
						 .target = path},
			      err) < 0)
		return WALK_FAIL;
	return WALK_SKIP;
}

static int on_closed(void *owner, const char *path, struct err *err)
{
	const struct links *links = owner;

	return plan_refuse_closed(links->plan, path, err);
}

static void on_gone(void *owner, const char *path)
{
	struct links *links = owner;

	(void)path;
	links->gone++;
}

/* Where the other names would be of use: what is hidden may be read
 * anywhere, but is looked for where a user's files are. */
static int look_once(struct links *links, const struct plan_step *step,
		     struct err *err)
{
	struct walk walk = {.entries_max = ENTRIES_MAX,
			    .depth_max = WALK_DEPTH_MAX,
			    .on_entry = on_entry,
			    .on_closed = on_closed,
			    .on_gone = on_gone,
			    .owner = links};

	links->gone = 0;
	if (walk_tree(&walk, step->target, err) < 0)
		return -1;
	return walk.is_cut ? err_set(err, ERR_TOO_LARGE,
				     "%s: protected or hidden files have "
				     "other names, and the tree is too large "
				     "to find them all",
				     step->target)
			   : 0;
}

/* While another sandbox moves them about. */
static int look_through(struct links *links, const struct plan_step *step,
			struct err *err)
{
	for (unsigned i = 0; i < LOOKS_MAX; i++) {
		if (look_once(links, step, err) < 0)
			return -1;
		if (links->gone == 0)
			return 0;
	}
	return err_set(err, ERR_DENIED,
		       "%s: protected or hidden files have other names, which "
		       "may be moved or removed faster than they are found: "
		       "try again",
		       step->target);
}

static bool is_looked_through(const struct plan *plan,
			      const struct plan_step *step)
{
	return step->kind == PLAN_BIND &&
	       !(step->flags & (PLAN_DEVICE | PLAN_INSIDE)) &&
	       ((step->flags & PLAN_WRITE) ||
		!strcmp(step->target, plan->workspace));
}

static int collect_all(struct links *links, enum plan_kind kind, size_t count,
		       struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct plan_step step = links->plan->steps[i];

		if (step.kind == kind && collect(links, &step, err) < 0)
			return -1;
	}
	return 0;
}

int plan_links(struct plan *plan, struct err *err)
{
	size_t count = plan->step_count;
	/* Of most plans none has another name: nothing is written to it. */
	auto_free struct linked *files = malloc(FILES_MAX * sizeof(*files));
	struct links links = {.plan = plan, .files = files};

	if (!files)
		return err_set(err, ERR_TOO_LARGE, "plan: no memory");
	/* A file may be in both: what is found first holds for it, however the
	 * steps are ordered. */
	if (collect_all(&links, PLAN_HIDE, count, err) < 0 ||
	    collect_all(&links, PLAN_PROTECT, count, err) < 0)
		return -1;
	for (size_t i = 0; links.count && i < count; i++) {
		const struct plan_step step = plan->steps[i];

		if (is_looked_through(plan, &step) &&
		    look_through(&links, &step, err) < 0)
			return -1;
	}
	return 0;
}
