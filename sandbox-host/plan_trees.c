/* The workspace and what `read` and `write` name, shallow ones first. */
#include "sandbox-host/plan_parts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

struct named {
	const char *path, *target;
	bool is_writable;
};

static int compare(const void *left, const void *right)
{
	const struct named *a = left;
	const struct named *b = right;
	size_t a_len = strlen(a->target);
	size_t b_len = strlen(b->target);

	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	/* The same path twice: the writable one goes on top. */
	return (int)a->is_writable - (int)b->is_writable;
}

static int refuse(const char *path, struct err *err)
{
	static const char *const refused[] = {
		"/", "/proc", "/sys", "/dev", "/run", "/old", SANDBOX_FILES};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (!strcmp(path, refused[i]))
			return err_set(err, ERR_INVALID,
				       "path %s: not as a whole: name what is "
				       "needed inside it",
				       path);
	return 0;
}

static int resolve(struct plan *plan, const char *text, const char **real,
		   struct err *err)
{
	const char *path = plan_path(plan, text, err);
	const char *note;
	bool failed;

	*real = NULL;
	if (!path)
		return -1;
	*real = plan_real(plan, path, &failed, err);
	if (failed)
		return -1;
	if (!*real) {
		note = plan_format(plan, err, "%s does not exist: left out",
				   path);
		if (!note)
			return -1;
		plan_note(plan, note);
		return 0;
	}
	/* Whoever wrote the workspace's files chose where it leads. */
	if (plan_is_within(path, plan->workspace) &&
	    !plan_is_within(*real, plan->workspace))
		return err_set(err, ERR_INVALID,
			       "path %s: it leads out of the workspace, to %s: "
			       "name that, if it is meant",
			       path, *real);
	return refuse(*real, err);
}

static int collect(struct plan *plan, const struct sandbox_paths *paths,
		   struct named *named, size_t *count, bool is_writable,
		   struct err *err)
{
	for (size_t i = 0; i < paths->count; i++) {
		const char *real;

		if (resolve(plan, paths->items[i], &real, err) < 0)
			return -1;
		if (real)
			named[(*count)++] =
				(struct named){real, real, is_writable};
	}
	return 0;
}

int plan_add_tree(struct plan *plan, const char *path, unsigned flags,
		  struct err *err)
{
	struct plan_step tree = {.kind = PLAN_TREE,
				 .flags = flags,
				 .target = path,
				 .tree = (unsigned)plan->tree_count};

	if (plan->tree_count == PLAN_TREES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "plan: root may name %d trees at most",
			       PLAN_TREES_MAX);
	plan->tree_count++;
	return plan_add(plan, tree, err);
}

static struct plan_step bind_of(const struct plan *plan,
				const struct named *named)
{
	struct plan_step bind = {.kind = PLAN_BIND,
				 .flags = named->is_writable ? PLAN_WRITE : 0,
				 .source = named->path,
				 .target = named->target,
				 .tree = (unsigned)plan->tree_count};

	if (named->path == plan->workspace && plan->layers)
		bind.flags |= PLAN_OVERLAY;
	return bind;
}

/* A privileged caller opens the tree itself: the command's own user may
 * not be able to walk there. A writable one is id-mapped. */
static int add_opened(struct plan *plan, const struct named *named,
		      bool is_idmapped, struct err *err)
{
	struct plan_step bind = bind_of(plan, named);

	bind.flags |= PLAN_OPENED;
	if (plan_add_tree(plan, named->path, is_idmapped ? PLAN_IDMAP : 0,
			  err) < 0 ||
	    ((bind.flags & PLAN_OVERLAY) &&
	     plan_add_tree(plan, plan->layers, PLAN_IDMAP, err) < 0))
		return -1;
	return plan_add(plan, bind, err);
}

/* Ours, or something that would be covered. */
static int check_target(const struct plan *plan, const char *target,
			struct err *err)
{
	static const char *const ours[] = {"/proc", "/sys", "/dev",
					   SANDBOX_FILES, "/old"};
	struct stat st;

	if (refuse(target, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (plan_is_within(target, ours[i]))
			return err_set(err, ERR_INVALID,
				       "volume %s: not there: it is ours",
				       target);
	if (plan_is_within(plan->workspace, target))
		return err_set(err, ERR_INVALID,
			       "volume %s: it would cover the workspace",
			       target);
	/* Nothing is made in the host's own directories. */
	if ((plan_is_within(target, plan->workspace) ||
	     plan_is_bound(plan, target)) &&
	    lstat(target, &st) < 0)
		return err_set(err, ERR_INVALID,
			       "volume %s: there is nothing to mount it on",
			       target);
	return 0;
}

static int collect_volumes(struct plan *plan, const struct sandbox_spec *spec,
			   struct named *named, size_t *count, struct err *err)
{
	for (size_t i = 0; i < spec->volume_count; i++) {
		const struct sandbox_volume *volume = &spec->volumes[i];
		const char *target = plan_path(plan, volume->target, err);
		bool failed;
		const char *real =
			plan_real(plan, volume->source, &failed, err);
		struct stat st;

		if (!target || check_target(plan, target, err) < 0)
			return -1;
		if (!real)
			return failed ? -1
				      : err_set(err, ERR_INVALID,
						"volume %s: it does not exist",
						volume->source);
		/* Resolved when it was allowed: another sandbox that may write
		 * above it put a link there since. */
		if (strcmp(real, volume->source) != 0)
			return err_set(err, ERR_DENIED,
				       "volume %s: it leads elsewhere by now",
				       volume->source);
		if (stat(real, &st) < 0 ||
		    !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
			return err_set(err, ERR_INVALID,
				       "volume %s: neither a directory nor a "
				       "file",
				       volume->source);
		if (refuse(real, err) < 0)
			return -1;
		named[(*count)++] =
			(struct named){real, target, volume->is_writable};
	}
	return 0;
}

/* Of the others the innermost in which its target lies; NULL. */
static const struct named *around(const struct named *named, size_t count,
				  const struct named *inner)
{
	const struct named *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (strcmp(named[i].target, inner->target) != 0 &&
		    plan_is_within(inner->target, named[i].target) &&
		    (!found || strlen(named[i].target) > strlen(found->target)))
			found = &named[i];
	return found;
}

/* Is there something of that name in a tree of the host's, through no link? */
static bool is_in(const char *tree, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};
	auto_fd int dir = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd int fd = dir < 0 ? -1
				 : (int)syscall(SYS_openat2, dir, name, &how,
						sizeof(how));

	return fd >= 0;
}

/* What is shown within another one is mounted on something of that, where
 * nothing of ours is made. */
static int check_nested(const struct named *named, size_t count,
			struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct named *outer = around(named, count, &named[i]);

		if (outer &&
		    !is_in(outer->path,
			   named[i].target + strlen(outer->target) + 1))
			return err_set(err, ERR_INVALID,
				       "path %s: there is nothing to mount it "
				       "on in %s",
				       named[i].target, outer->path);
	}
	return 0;
}

static int check_owner(const struct plan *plan, const char *path,
		       struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_system(err, "path %s", path);
	if (st.st_uid == plan->identity.uid)
		return 0;
	return err_set(err, ERR_INVALID,
		       "write %s: it belongs to uid %u, the workspace to uid "
		       "%u: one sandbox writes as one user",
		       path, (unsigned)st.st_uid, (unsigned)plan->identity.uid);
}

static int add_named(struct plan *plan, const struct named *named,
		     struct err *err)
{
	bool is_workspace = named->path == plan->workspace;
	struct stat st;

	if (stat(named->path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    plan_add(plan,
		     (struct plan_step){.kind = PLAN_SOCKET,
					.target = named->path},
		     err) < 0)
		return -1;
	if (!plan->identity.is_privileged)
		return plan_add(plan, bind_of(plan, named), err);
	if ((named->is_writable && check_owner(plan, named->path, err) < 0) ||
	    plan_way(plan, named->target, err) < 0)
		return -1;
	return add_opened(plan, named, named->is_writable || is_workspace, err);
}

int plan_trees(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err)
{
	size_t count = 0;
	struct named *named = arena_array(&plan->arena,
					  spec->read.count + spec->write.count +
						  spec->volume_count + 2,
					  sizeof(*named));

	if (!named)
		return err_set(err, ERR_TOO_LARGE, "plan: no memory");
	if (!plan->image &&
	    (collect(plan, &spec->read, named, &count, false, err) < 0 ||
	     collect(plan, &spec->write, named, &count, true, err) < 0))
		return -1;
	if (collect_volumes(plan, spec, named, &count, err) < 0)
		return -1;
	named[count++] = (struct named){plan->workspace, plan->workspace,
					spec->workspace_mode != SANDBOX_READ};
	if (plan_overlay(plan, spec, err) < 0 || plan_worktree(plan, err) < 0)
		return -1;
	if (plan->repository)
		named[count++] =
			(struct named){plan->repository, plan->repository,
				       spec->workspace_mode == SANDBOX_WRITE};
	if (check_nested(named, count, err) < 0)
		return -1;
	qsort(named, count, sizeof(*named), compare);
	for (size_t i = 0; i < count; i++)
		if (add_named(plan, &named[i], err) < 0)
			return -1;
	return 0;
}
