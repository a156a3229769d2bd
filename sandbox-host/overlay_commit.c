/* What may be committed, and whether the user's directory changed meanwhile;
 * overlay_apply.c does it. */
#include "sandbox-host/overlay_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/guard.h"

#define ORIGIN	  "user.overlay.origin" /* this was copied up from below */
#define SECOND_NS INT64_C(1000000000)

struct commit {
	struct overlay *overlay;
	const struct overlay_wish *wish;
	struct overlay_result *result;
	struct guard guard;
	struct overlay_apply apply;
	bool is_applying; /* the second time round */
};

/* ---- what is never written ---- */

static bool is_one_of(const char *name, size_t len, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == len && !strncasecmp(name, *names, len))
			return true;
	return false;
}

/* Below a git directory: what git runs or takes settings from. */
static bool is_git_setting(const char *path)
{
	static const char *const plain[] = {"refs", "logs", "objects", NULL};
	static const char *const settings[] = {"hooks",		  "config",
					       "config.worktree", "commondir",
					       "gitdir",	  NULL};
	size_t len = strcspn(path, "/");

	if (is_one_of(path, len, plain))
		return false;
	for (;;) {
		if (is_one_of(path, len, settings))
			return true;
		path += len;
		if (!*path)
			return false;
		len = strcspn(++path, "/");
	}
}

/* Why a path below the workspace is not for the sandbox to write, whatever
 * the mounts and the reporter did about it; NULL: it is. */
static const char *refusal(const struct commit *commit, const char *path,
			   bool replaces)
{
	static const char *const git[] = {".git", NULL};
	char whole[2 * PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s",
		 commit->overlay->record.workspace, path);
	if (strlen(whole) >= PATH_MAX)
		return "the path is too long";
	if (guard_covers(&commit->guard, whole) ||
	    (replaces && guard_is_above(&commit->guard, whole)))
		return "protected";
	for (const char *at = path;;) {
		size_t len = strcspn(at, "/");

		if (is_one_of(at, len, git) && at[len] &&
		    is_git_setting(at + len + 1))
			return "protected: git's hooks and settings";
		if (is_one_of(at, len, git) && !at[len] && replaces)
			return "protected: a repository of its own";
		if (!at[len])
			return NULL;
		at += len + 1;
	}
}

static bool has_name(const struct overlay_change *change, const char *name)
{
	struct stat st;

	return fstatat(change->after_dir, name, &st, AT_SYMLINK_NOFOLLOW) ==
		       0 ||
	       (change->before_dir >= 0 &&
		fstatat(change->before_dir, name, &st, AT_SYMLINK_NOFOLLOW) ==
			0);
}

/* Is it a part of what makes a directory a repository, in one that would be
 * one? git takes such for one whatever it is called, once somebody stands in
 * it, and runs what its config says. */
static bool is_of_repository(const struct overlay_change *change)
{
	static const char *const parts[] = {
		"HEAD",	     "objects", "refs",	  "config", "config.worktree",
		"commondir", "hooks",	"gitdir", NULL};
	static const char *const git[] = {".git", NULL};

	for (const char *at = change->path; *at; at += *at == '/') {
		size_t len = strcspn(at, "/");

		/* Its own rules are refusal()'s. */
		if (is_one_of(at, len, git))
			return false;
		at += len;
	}
	return change->kind != OVERLAY_DELETED &&
	       is_one_of(change->name, strlen(change->name), parts) &&
	       has_name(change, "HEAD") &&
	       (has_name(change, "commondir") ||
		(has_name(change, "objects") && has_name(change, "refs")));
}

/* ---- what changed meanwhile ---- */

static int64_t ns_of(const struct timespec *time)
{
	return time->tv_sec * SECOND_NS + time->tv_nsec;
}

static bool changed_since(const struct commit *commit, const struct stat *st)
{
	/* The change time of a directory says nothing: that of what it holds
	 * does, and its modification time when names came and went. */
	const struct timespec *time =
		S_ISDIR(st->st_mode) ? &st->st_mtim : &st->st_ctim;

	return ns_of(time) > commit->overlay->record.start_ns;
}

/* A tree of the user's that is to go. */
struct doomed {
	const struct commit *commit;
	size_t budget;
	const char *refused; /* why one in it may not go */
	bool has_changed;
};

static int look_through(struct doomed *doomed, int dir, const char *path,
			unsigned depth, struct err *err);

static int look_at_one(struct doomed *doomed, int dir, const char *name,
		       const char *path, unsigned depth, struct err *err)
{
	auto_fd int fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_system(err, "commit %s", path);
	doomed->has_changed |= changed_since(doomed->commit, &st);
	if (!doomed->refused)
		doomed->refused = refusal(doomed->commit, path, true);
	if (!S_ISDIR(st.st_mode) || depth == OVERLAY_DEPTH_MAX)
		return 0;
	fd = overlay_open_dir(dir, name);
	if (fd < 0)
		return errno == EACCES ? 0 : err_system(err, "commit %s", path);
	return look_through(doomed, fd, path, depth + 1, err);
}

static int look_through(struct doomed *doomed, int dir, const char *path,
			unsigned depth, struct err *err)
{
	struct overlay_names names;
	int rc = overlay_names_read(dir, &doomed->budget, &names, err);

	for (size_t i = 0; rc == 0 && i < names.count; i++) {
		char below[PATH_MAX];
		int len = snprintf(below, sizeof(below), "%s/%s", path,
				   names.items[i]);

		if (len < 0 || (size_t)len >= sizeof(below))
			rc = err_set(err, ERR_TOO_LARGE,
				     "commit: a path is too long");
		else
			rc = look_at_one(doomed, dir, names.items[i], below,
					 depth, err);
	}
	overlay_names_release(&names);
	return rc;
}

/* Removed by the user, though the sandbox had changed it. */
static bool was_removed(const struct commit *commit,
			const struct overlay_change *change)
{
	auto_fd int fd = -1;
	struct stat dir;

	if (change->kind != OVERLAY_ADDED || change->type != OVERLAY_FILE ||
	    fstat(change->before_dir, &dir) < 0 || !changed_since(commit, &dir))
		return false;
	fd = overlay_open_after(change);
	return fd >= 0 && fgetxattr(fd, ORIGIN, NULL, 0) >= 0;
}

static bool is_conflict(const struct commit *commit,
			const struct overlay_change *change)
{
	if (!change->before)
		return was_removed(commit, change);
	if (change->kind == OVERLAY_CHANGED && S_ISDIR(change->before->st_mode))
		return false;
	return changed_since(commit, change->before);
}

/* ---- one change ---- */

/* Is path the wanted one, below it, or a directory on the way there? */
static bool is_wanted_by(const char *wanted,
			 const struct overlay_change *change)
{
	const char *path = change->path;
	size_t len = strlen(wanted);
	size_t path_len = strlen(path);

	if (!strncmp(path, wanted, len) && (!path[len] || path[len] == '/'))
		return true;
	return change->kind == OVERLAY_ADDED &&
	       change->type == OVERLAY_DIRECTORY &&
	       !strncmp(path, wanted, path_len) && wanted[path_len] == '/';
}

static bool is_wanted(const struct commit *commit,
		      const struct overlay_change *change)
{
	const char *const *paths = commit->wish->paths;

	if (!paths || !paths[0])
		return true;
	for (; *paths; paths++)
		if (is_wanted_by(*paths, change))
			return true;
	return false;
}

static void tell(const struct commit *commit, enum overlay_outcome outcome,
		 const struct overlay_change *change, const char *reason)
{
	if (commit->wish->on_outcome)
		commit->wish->on_outcome(commit->wish->owner, outcome, change,
					 reason);
}

static enum overlay_answer refuse(struct commit *commit,
				  const struct overlay_change *change,
				  const char *reason)
{
	commit->result->refused += commit->is_applying;
	if (commit->is_applying)
		tell(commit, OVERLAY_REFUSED, change, reason);
	return OVERLAY_SKIP_BELOW;
}

/* What is the matter with a change; NULL: nothing. */
static const char *fault_of(struct commit *commit,
			    const struct overlay_change *change,
			    bool *is_changed, struct err *err)
{
	struct doomed doomed = {.commit = commit,
				.budget = OVERLAY_ENTRIES_MAX};
	bool replaces = change->kind == OVERLAY_DELETED ||
			(change->kind == OVERLAY_ADDED &&
			 change->type != OVERLAY_DIRECTORY) ||
			!strcasecmp(change->name, ".git");
	const char *fault = refusal(commit, change->path, replaces);

	if (!fault && is_of_repository(change))
		fault = "protected: a repository of its own";
	if (!fault && change->type == OVERLAY_OTHER &&
	    change->kind != OVERLAY_DELETED)
		fault = "a pipe, a socket or closed to its owner";
	*is_changed = is_conflict(commit, change);
	if (fault || change->kind != OVERLAY_DELETED ||
	    !S_ISDIR(change->before->st_mode))
		return fault;
	if (look_at_one(&doomed, change->before_dir, change->name, change->path,
			0, err) < 0)
		return "it can not be looked through";
	*is_changed = doomed.has_changed;
	return doomed.refused;
}

static enum overlay_answer
on_change(void *owner, const struct overlay_change *change, struct err *err)
{
	struct commit *commit = owner;
	bool is_changed;
	const char *fault;

	/* What is not wanted may hold what is. */
	if (!is_wanted(commit, change))
		return OVERLAY_GO_ON;
	fault = fault_of(commit, change, &is_changed, err);
	if (fault)
		return refuse(commit, change, fault);
	if (!commit->is_applying) {
		if (is_changed && !commit->wish->is_forced) {
			commit->result->conflicts++;
			tell(commit, OVERLAY_CONFLICT, change,
			     "changed in the workspace meanwhile");
		}
		return OVERLAY_GO_ON;
	}
	if (is_changed && !commit->wish->is_forced) {
		err_set(err, ERR_DENIED, "commit %s: it changed just now",
			change->path);
		return OVERLAY_FAIL;
	}
	if (overlay_apply(&commit->apply, change, err) < 0)
		return OVERLAY_FAIL;
	commit->result->applied++;
	tell(commit, OVERLAY_APPLIED, change, NULL);
	return OVERLAY_GO_ON;
}

static int apply_all(struct commit *commit, struct err *err)
{
	struct overlay *overlay = commit->overlay;
	int rc;

	if (overlay_each(overlay, on_change, commit, err) < 0)
		return -1;
	if (commit->result->conflicts || commit->wish->is_dry)
		return 0;
	commit->is_applying = true;
	rc = overlay_apply_begin(&commit->apply, overlay, err);
	if (rc == 0)
		rc = overlay_each(overlay, on_change, commit, err);
	overlay_apply_end(&commit->apply);
	/* Before anybody throws the changes away. */
	if (rc == 0 && syncfs(overlay->lower) < 0)
		rc = err_system(err, "commit: write it to the disk");
	return rc;
}

int overlay_commit(struct overlay *overlay, const struct overlay_wish *wish,
		   struct overlay_result *result, struct err *err)
{
	const struct plan plan = {.steps = overlay->record.steps,
				  .step_count = overlay->record.step_count};
	struct commit commit = {.overlay = overlay,
				.wish = wish,
				.result = result,
				.apply = {.stage = -1}};
	int rc;

	*result = (struct overlay_result){0};
	if (overlay_record_is_out_of_step(&overlay->record) && !wish->is_forced)
		return err_set(err, ERR_DENIED,
			       "commit: the clock was set back: whether the "
			       "workspace changed can not be told");
	if (guard_open(&commit.guard, &plan, err) < 0)
		return -1;
	rc = apply_all(&commit, err);
	guard_close(&commit.guard);
	return rc;
}
