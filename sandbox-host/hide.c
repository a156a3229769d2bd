#include "sandbox-host/hide.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/mounts.h"
#include "sandbox-host/pattern.h"
#include "sandbox-host/plan_parts.h"
#include "sandbox-host/walk.h"

#define HIDDEN_FILE SANDBOX_FILES "/hidden"
#define HIDDEN_DIR  SANDBOX_FILES "/hidden.d"
#define ROUNDS_MAX  16
#define ENTRIES_MAX 1000000

int hide_mount(int target, const char *path, struct err *err)
{
	auto_fd int tree = -1;
	struct stat st;

	if (fstat(target, &st) < 0)
		return err_system(err, "hide %s", path);
	/* The mount it is copied from is read-only, and so is the copy: its
	 * owner, who is the command's user, can not change its mode. */
	tree = mounts_clone(S_ISDIR(st.st_mode) ? HIDDEN_DIR : HIDDEN_FILE,
			    err);
	return tree < 0 ? -1 : mounts_attach_fd(tree, target, path, err);
}

/* One look at all of it. */
struct look {
	const struct plan *plan;
	struct stat file, directory;   /* what stands in for the hidden */
	const struct pattern *pattern; /* NULL: by ignore files */
	size_t found;		       /* not hidden before */
	size_t gone; /* moved, it may be: with another name not seen yet */
};

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool is_gone(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static bool is_of_the_host(const struct plan_step *bind)
{
	return bind && bind->kind == PLAN_BIND &&
	       !(bind->flags & (PLAN_INSIDE | PLAN_DEVICE));
}

/* Is it where a sandbox moves things about? */
static bool is_lively(const struct plan *plan, const char *path)
{
	const struct plan_step *bind = plan_covering(plan, path);

	return is_of_the_host(bind) && ((bind->flags & PLAN_WRITE) ||
					plan_is_within(path, plan->workspace));
}

static bool is_on_the_way(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->step_count; i++)
		if (plan->steps[i].kind == PLAN_BIND &&
		    plan_is_within(plan->steps[i].target, path) &&
		    is_lively(plan, plan->steps[i].target))
			return true;
	return false;
}

static void on_gone(void *owner, const char *path)
{
	struct look *look = owner;

	look->gone += is_lively(look->plan, path);
}

/* A real path. */
static int hide_found(struct look *look, const char *path, struct err *err)
{
	auto_fd int target = mounts_open(path);
	struct stat st;

	if (target < 0 && is_gone(errno))
		on_gone(look, path);
	if (target < 0 && (is_gone(errno) || errno == EACCES))
		return 0;
	if (target < 0 || fstat(target, &st) < 0)
		return err_system(err, "hide %s", path);
	if (is_same(&st, &look->file) || is_same(&st, &look->directory))
		return 0;
	look->found++;
	return hide_mount(target, path, err);
}

/* A link may lead nowhere. Anything else that had no real path was moved, if
 * only for that moment. */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static int hide_named(struct look *look, const char *path, struct err *err)
{
	auto_free char *real = realpath(path, NULL);

	if (!real && is_gone(errno) && !is_link(path))
		on_gone(look, path);
	return real && is_of_the_host(plan_covering(look->plan, real))
		       ? hide_found(look, real, err)
		       : 0;
}

static bool is_hidden(const struct look *look, const struct walk_entry *entry)
{
	return look->pattern ? pattern_matches(look->pattern, entry->path)
			     : ignore_hides(look->plan->ignore, entry->path,
					    entry->is_directory);
}

static enum walk_answer on_entry(void *owner, const struct walk_entry *entry,
				 struct err *err)
{
	struct look *look = owner;

	if (is_hidden(look, entry))
		return hide_named(look, entry->path, err) < 0 ? WALK_FAIL
							      : WALK_SKIP;
	if (!entry->is_directory)
		return WALK_SKIP;
	return is_lively(look->plan, entry->path) ||
			       is_on_the_way(look->plan, entry->path)
		       ? WALK_INTO
		       : WALK_SKIP;
}

/* What is closed to us, who are the owner's as well as the command is, is
 * closed to that for good. */
static int look_through(struct look *look, const char *base, unsigned depth_max,
			struct err *err)
{
	struct walk walk = {.entries_max = ENTRIES_MAX,
			    .depth_max = depth_max,
			    .on_entry = on_entry,
			    .on_gone = on_gone,
			    .owner = look};

	if (!is_lively(look->plan, base) && !is_on_the_way(look->plan, base))
		return 0;
	if (walk_tree(&walk, base, err) < 0)
		return -1;
	/* A shallow pattern is cut by its own depth, and misses nothing. */
	if (walk.is_cut && depth_max == WALK_DEPTH_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "hide: %.256s is too large to be looked through",
			       base);
	return 0;
}

static int look_for(struct look *look, const char *glob, struct err *err)
{
	auto_free struct pattern *pattern = malloc(sizeof(*pattern));

	if (!pattern)
		return err_set(err, ERR_TOO_LARGE, "hide: no memory");
	if (pattern_parse(pattern, glob, err) < 0)
		return -1;
	look->pattern = pattern;
	return look_through(look, pattern->base, pattern->depth_max, err);
}

static int look_for_all(struct look *look, struct err *err)
{
	for (size_t i = 0; i < look->plan->step_count; i++) {
		const struct plan_step *step = &look->plan->steps[i];

		if (step->kind == PLAN_VEIL && (step->flags & PLAN_GLOB) &&
		    look_for(look, step->target, err) < 0)
			return -1;
	}
	look->pattern = NULL;
	return look->plan->ignore ? look_through(look, look->plan->workspace,
						 WALK_DEPTH_MAX, err)
				  : 0;
}

int hide_again(const struct plan *plan, struct err *err)
{
	struct look look = {.plan = plan};

	if (!plan->watches_reads)
		return 0;
	if (stat(HIDDEN_FILE, &look.file) < 0 ||
	    stat(HIDDEN_DIR, &look.directory) < 0)
		return err_system(err, "hide: look at what hides");
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		look.found = 0;
		look.gone = 0;
		if (look_for_all(&look, err) < 0)
			return -1;
		if (look.found + look.gone == 0)
			return 0;
	}
	return err_set(err, ERR_DENIED,
		       "hide: files are moved about, or removed, faster than "
		       "they can be looked through: try again");
}
