#include "sandbox-host/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "sandbox-host/capabilities.h"
#include "sandbox-host/hide.h"
#include "sandbox-host/landlock.h"
#include "sandbox-host/mounts.h"
#include "sandbox-host/mounts_overlay.h"
#include "sandbox-host/roots.h"
#include "sandbox-host/truststore.h"

#define COPY_BYTES     65536
#define COPY_BYTES_MAX (16 * 1024 * 1024)
#define OLD_PATH_MAX   (PATH_MAX + sizeof(MOUNTS_OLD))

typedef int step_run(struct steps *steps, const struct plan_step *step,
		     struct err *err);

static int old_path(const char *path, char out[OLD_PATH_MAX], struct err *err)
{
	int len = snprintf(out, OLD_PATH_MAX, MOUNTS_OLD "%s", path);

	if (len < 0 || (size_t)len >= OLD_PATH_MAX)
		return err_set(err, ERR_TOO_LARGE, "mount: a long path");
	return 0;
}

static int step_hostname(struct steps *steps, const struct plan_step *step,
			 struct err *err)
{
	(void)steps;
	if (sethostname(step->target, strlen(step->target)) < 0)
		return err_system(err, "hostname %s", step->target);
	return 0;
}

static int step_root(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	(void)steps;
	(void)step;
	return mounts_enter_root(err);
}

static int step_dir(struct steps *steps, const struct plan_step *step,
		    struct err *err)
{
	(void)steps;
	return mounts_make_dir(step->target, step->mode, err);
}

static int step_link(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	(void)steps;
	if (symlink(step->source, step->target) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT)
		return err_system(err, "link %s", step->target);
	/* The directory it stands in has nothing else in it. */
	if (mounts_make_file(step->target, 0444, err) < 0 ||
	    unlink(step->target) < 0 || symlink(step->source, step->target) < 0)
		return err_system(err, "link %s", step->target);
	return 0;
}

static int write_all(int fd, struct bytes content, const char *path,
		     struct err *err)
{
	while (content.len) {
		ssize_t done = write(fd, content.data, content.len);

		if (done < 0)
			return err_system(err, "write %s", path);
		content = bytes_slice(content, (size_t)done, content.len);
	}
	return 0;
}

/* All of it, and a line feed. */
static int read_all(int from, const char *path, struct buf *out,
		    struct err *err)
{
	static uint8_t block[COPY_BYTES];
	ssize_t len;

	while ((len = read(from, block, sizeof(block))) > 0)
		if (buf_add(out, bytes_from(block, (size_t)len)) < 0)
			return err_set(err, ERR_TOO_LARGE, "%s is too large",
				       path);
	if (len < 0)
		return err_system(err, "read %s", path);
	if (buf_add_byte(out, '\n') < 0)
		return err_set(err, ERR_TOO_LARGE, "%s is too large", path);
	return 0;
}

/* A file of the host's, if the step names one: as it was made ready, or read
 * into out. */
static int read_source(const struct plan_step *step, struct buf *out,
		       struct roots *roots, struct err *err)
{
	char path[OLD_PATH_MAX];
	auto_fd int from = -1;

	*roots = (struct roots){0};
	if (!step->source)
		return 0;
	if (old_path(step->source, path, err) < 0)
		return -1;
	from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (from < 0)
		return err_system(err, "open %s", step->source);
	if (roots_take(from, roots))
		return 0;
	if (read_all(from, step->source, out, err) < 0)
		return -1;
	roots->text = buf_view(out);
	return 0;
}

/* A new file of so many parts. */
static int write_file(const struct plan_step *step, const struct bytes *parts,
		      size_t count, struct err *err)
{
	auto_fd int fd = open(step->target,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_system(err, "make %s", step->target);
	for (size_t i = 0; i < count; i++)
		if (write_all(fd, parts[i], step->target, err) < 0)
			return -1;
	if (fchmod(fd, step->mode) < 0)
		return err_system(err, "make %s", step->target);
	return 0;
}

static int step_file(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	auto_type(buf_release) struct buf source;
	struct roots roots;
	struct bytes parts[2];

	(void)steps;
	buf_init(&source, COPY_BYTES_MAX);
	if (read_source(step, &source, &roots, err) < 0)
		return -1;
	parts[0] = roots.text;
	parts[1] = step->content;
	return write_file(step, parts, ARRAY_SIZE(parts), err);
}

/* Its parts. What was made ready is some 200 KB, and not copied. False: no
 * memory. */
static bool make_truststore(struct arena *arena, struct bytes ours,
			    const struct roots *roots, struct bytes parts[3])
{
	unsigned number = roots->bag_count;

	parts[2] = roots->bags;
	/* None of theirs was made ready. */
	if (number == 0 &&
	    truststore_bags(arena, roots->text, &number, &parts[2]) < 0)
		return false;
	if (truststore_bags(arena, ours, &number, &parts[1]) < 0)
		return false;
	parts[0] = truststore_head(arena, parts[1].len + parts[2].len);
	return parts[0].len > 0;
}

static int step_truststore(struct steps *steps, const struct plan_step *step,
			   struct err *err)
{
	auto_type(buf_release) struct buf source;
	auto_type(arena_release) struct arena arena;
	struct roots roots;
	struct bytes parts[3];

	(void)steps;
	buf_init(&source, COPY_BYTES_MAX);
	arena_init(&arena, 4 * COPY_BYTES_MAX);
	if (read_source(step, &source, &roots, err) < 0)
		return -1;
	if (!make_truststore(&arena, step->content, &roots, parts))
		return err_set(err, ERR_TOO_LARGE, "make %s: no memory",
			       step->target);
	return write_file(step, parts, ARRAY_SIZE(parts), err);
}

static int step_tmpfs(struct steps *steps, const struct plan_step *step,
		      struct err *err)
{
	return mounts_tmpfs(step->target, step->mode, steps->tmpfs_max, err);
}

/* A tree that the caller opened. */
static int opened(const struct steps *steps, unsigned number, const char *path,
		  struct err *err)
{
	int tree;

	if (number >= steps->tree_count)
		return err_set(err, ERR_INVALID, "bind %s: no tree came for it",
			       path);
	tree = fcntl(steps->trees[number], F_DUPFD_CLOEXEC, 0);
	return tree < 0 ? err_system(err, "bind %s", path) : tree;
}

static int clone_old(const char *source, struct err *err)
{
	char path[OLD_PATH_MAX];

	return old_path(source, path, err) < 0 ? -1 : mounts_clone(path, err);
}

static int overlay_source(struct steps *steps, const struct plan_step *step,
			  const char *layers_path, struct err *err)
{
	bool is_opened = step->flags & PLAN_OPENED;
	auto_fd int lower =
		is_opened ? opened(steps, step->tree, step->source, err)
			  : clone_old(step->source, err);
	auto_fd int layers =
		is_opened ? opened(steps, step->tree + 1, layers_path, err)
			  : clone_old(layers_path, err);

	if (lower < 0 || layers < 0)
		return -1;
	return mounts_overlay(lower, layers, step->source, err);
}

/* Where a bind's mounts come from: a detached tree. */
static int bind_source(struct steps *steps, const struct plan_step *step,
		       struct err *err)
{
	if (step->flags & PLAN_OVERLAY)
		return overlay_source(steps, step, steps->plan->layers, err);
	if (step->flags & PLAN_OPENED)
		return opened(steps, step->tree, step->source, err);
	if (step->flags & PLAN_INSIDE)
		return mounts_clone(step->source, err);
	return clone_old(step->source, err);
}

/* What of it is bound elsewhere is restricted there. */
static int step_image(struct steps *steps, const struct plan_step *step,
		      struct err *err)
{
	auto_fd int tree =
		overlay_source(steps, step, steps->plan->image_layers, err);

	if (tree < 0 ||
	    mounts_restrict(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			    step->source, err) < 0)
		return -1;
	return mounts_attach(tree, step->target, err);
}

static int make_bind(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	auto_fd int tree = bind_source(steps, step, err);
	uint64_t attributes = MOUNT_ATTR_NOSUID;

	if (tree < 0)
		return -1;
	if (!(step->flags & PLAN_DEVICE))
		attributes |= MOUNT_ATTR_NODEV;
	if (!(step->flags & PLAN_WRITE))
		attributes |= MOUNT_ATTR_RDONLY;
	if (mounts_restrict(tree, attributes, step->target, err) < 0)
		return -1;
	return mounts_attach(tree, step->target, err);
}

static int step_bind(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	int rc = make_bind(steps, step, err);

	/* Somebody removed it from the host's root since the plan was made:
	 * the inside has nothing of it either. */
	return rc < 0 && (step->flags & PLAN_TOP) && err->number == ENOENT ? 0
									   : rc;
}

static int step_proc(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	(void)steps;
	if (mounts_proc(step->target, err) < 0)
		return -1;
	/* All of it: /proc/sys, and every process's own knobs. */
	return mounts_seal(step->target, err);
}

static int step_devpts(struct steps *steps, const struct plan_step *step,
		       struct err *err)
{
	(void)steps;
	return mounts_devpts(step->target, err);
}

static int step_seal(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	(void)steps;
	return mounts_seal(step->target, err);
}

/* No pattern finds another name again that was moved meanwhile. */
static int check_other(int target, const struct plan_step *step,
		       struct err *err)
{
	struct stat st;

	if (target < 0 && errno == EACCES)
		return 0;
	if (target >= 0 && fstat(target, &st) == 0 && st.st_nlink > 1)
		return 0;
	return err_set(err, ERR_DENIED,
		       "hide %s: it was moved or removed in the meantime: try "
		       "again",
		       step->target);
}

/* What is not there, or out of reach already, needs no hiding. */
static int step_hide(struct steps *steps, const struct plan_step *step,
		     struct err *err)
{
	auto_fd int target = mounts_open(step->target);

	(void)steps;
	if ((step->flags & PLAN_OTHER) && check_other(target, step, err) < 0)
		return -1;
	if (target < 0 &&
	    (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (target < 0)
		return err_system(err, "hide %s", step->target);
	return hide_mount(target, step->target, err);
}

/* Mount a tree of the inside on itself. */
static int mount_on_itself(const struct plan_step *step, uint64_t attributes,
			   struct err *err)
{
	auto_fd int target = mounts_open(step->target);
	auto_fd int tree = -1;

	if (target < 0)
		return err_system(err, "protect %s", step->target);
	tree = mounts_clone_fd(target, step->target, err);
	if (tree < 0 ||
	    mounts_restrict(tree, attributes, step->target, err) < 0)
		return -1;
	return mounts_attach_fd(tree, target, step->target, err);
}

static int step_pin(struct steps *steps, const struct plan_step *step,
		    struct err *err)
{
	(void)steps;
	return mount_on_itself(step, 0, err);
}

static int step_protect(struct steps *steps, const struct plan_step *step,
			struct err *err)
{
	(void)steps;
	return mount_on_itself(step, MOUNT_ATTR_RDONLY, err);
}

static int step_detach(struct steps *steps, const struct plan_step *step,
		       struct err *err)
{
	(void)steps;
	return mounts_detach(step->target, err);
}

static int step_capabilities(struct steps *steps, const struct plan_step *step,
			     struct err *err)
{
	(void)steps;
	(void)step;
	return capabilities_drop(err);
}

static int step_landlock(struct steps *steps, const struct plan_step *step,
			 struct err *err)
{
	if (steps->ruleset == -1)
		steps->ruleset = landlock_begin(err);
	if (steps->ruleset < 0)
		return steps->ruleset == -1 ? -1 : 0;
	return landlock_allow(steps->ruleset, step->target,
			      step->flags & PLAN_WRITE, err);
}

static int enter_landlock(struct steps *steps, struct err *err)
{
	if (steps->ruleset < 0)
		return 0;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		landlock_allow_fd(steps->ruleset, fd);
	return landlock_enter(steps->ruleset, err);
}

static step_run *const runs[PLAN_KIND_MAX] = {
	[PLAN_HOSTNAME] = step_hostname,
	[PLAN_ROOT] = step_root,
	[PLAN_DIR] = step_dir,
	[PLAN_LINK] = step_link,
	[PLAN_FILE] = step_file,
	[PLAN_TRUSTSTORE] = step_truststore,
	[PLAN_TMPFS] = step_tmpfs,
	[PLAN_IMAGE] = step_image,
	[PLAN_BIND] = step_bind,
	[PLAN_PROC] = step_proc,
	[PLAN_DEVPTS] = step_devpts,
	[PLAN_SEAL] = step_seal,
	[PLAN_HIDE] = step_hide,
	[PLAN_PIN] = step_pin,
	[PLAN_PROTECT] = step_protect,
	[PLAN_DETACH] = step_detach,
	[PLAN_CAPABILITIES] = step_capabilities,
	[PLAN_LANDLOCK] = step_landlock,
};

static int run_stage(struct steps *steps, enum plan_stage stage,
		     struct err *err)
{
	size_t first = stage == PLAN_BY_INIT ? steps->done : 0;

	for (size_t i = first; i < steps->plan->step_count; i++) {
		const struct plan_step *step = &steps->plan->steps[i];

		if (plan_stage_of(step->kind) == stage && runs[step->kind] &&
		    runs[step->kind](steps, step, err) < 0)
			return -1;
	}
	return 0;
}

int steps_build_base(struct steps *steps, struct err *err)
{
	mode_t mask = umask(0022);
	int rc = run_stage(steps, PLAN_BY_INIT, err);

	(void)umask(mask);
	return rc;
}

int steps_build(struct steps *steps, struct err *err)
{
	int rc = steps_build_base(steps, err);

	roots_release();
	return rc < 0 ? -1 : hide_again(steps->plan, err);
}

int steps_confine(struct steps *steps, struct err *err)
{
	if (run_stage(steps, PLAN_BY_COMMAND, err) < 0 ||
	    enter_landlock(steps, err) < 0)
		return -1;
	return seccomp_install(steps->program, err);
}
