#include "sandbox-host/root_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/mounts.h"
#include "sandbox-host/mounts_overlay.h"
#include "sandbox-host/plan_parts.h"
#include "sandbox-host/tree.h"

#define DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define OPAQUE	   "user.overlay.opaque"
#define PROBE	   "user.sallyport"

static int give(const struct plan *plan, int fd)
{
	const struct plan_identity *identity = &plan->identity;

	return identity->is_privileged
		       ? fchown(fd, identity->uid, identity->gid)
		       : 0;
}

/* The directory name, in place of whatever has that name. -1: errno. */
static int enter(const struct plan *plan, int at, const char *name)
{
	int fd = openat(at, name, DIR_FLAGS);
	bool was_there = fd < 0 && errno != ENOENT;

	if (fd >= 0)
		return fd;
	if ((was_there && unlinkat(at, name, 0) < 0) ||
	    mkdirat(at, name, 0755) < 0)
		return -1;
	fd = openat(at, name, DIR_FLAGS);
	/* What was removed here in the image does not come back. */
	if (fd >= 0 && (give(plan, fd) < 0 || fchmod(fd, 0755) < 0 ||
			(was_there && fsetxattr(fd, OPAQUE, "y", 1, 0) < 0))) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* An empty file, in place of whatever has that name. */
static int make_file(const struct plan *plan, int at, const char *name)
{
	struct stat st;
	auto_fd int fd = -1;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISREG(st.st_mode))
			return 0;
		if (S_ISDIR(st.st_mode) ? tree_remove(at, name) < 0
					: unlinkat(at, name, 0) < 0)
			return -1;
	}
	fd = openat(at, name, FILE_FLAGS, 0644);
	return fd < 0 || give(plan, fd) < 0 || fchmod(fd, 0644) < 0 ? -1 : 0;
}

static int make_place(const struct plan *plan, int upper, const char *path,
		      bool is_file, struct err *err)
{
	char text[PATH_MAX];
	char *rest = text, *name;
	auto_fd int at = fcntl(upper, F_DUPFD_CLOEXEC, 0);

	if (snprintf(text, sizeof(text), "%s", path) >= (int)sizeof(text))
		return err_set(err, ERR_TOO_LARGE, "image: a long path");
	while (at >= 0 && (name = strsep(&rest, "/"))) {
		int next;

		if (!*name)
			continue;
		if (!rest && is_file)
			return make_file(plan, at, name) < 0
				       ? err_system(err, "image: make %s", path)
				       : 0;
		next = enter(plan, at, name);
		(void)close(at);
		at = next;
	}
	return at < 0 ? err_system(err, "image: make %s", path) : 0;
}

/* What is mounted at a place of the image. */
static bool has_place(const struct plan *plan, size_t number)
{
	const struct plan_step *step = &plan->steps[number];

	if (step->kind != PLAN_TMPFS && step->kind != PLAN_BIND)
		return false;
	for (size_t i = 0; i < number; i++) {
		const struct plan_step *other = &plan->steps[i];

		if (other->kind == PLAN_BIND && (other->flags & PLAN_INSIDE) &&
		    !strncmp(other->source, MOUNTS_IMAGE "/",
			     sizeof(MOUNTS_IMAGE)) &&
		    plan_is_within(step->target, other->target))
			return true;
	}
	return false;
}

static int make_places(const struct plan *plan, int upper, struct err *err)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];
		bool is_file = false;
		struct stat st;

		if (!has_place(plan, i))
			continue;
		if (step->kind == PLAN_BIND)
			is_file = (step->flags & PLAN_INSIDE) ||
				  (stat(step->source, &st) == 0 &&
				   !S_ISDIR(st.st_mode));
		if (make_place(plan, upper, step->target, is_file, err) < 0)
			return -1;
	}
	return 0;
}

/* The top level is bound piece by piece: each is to be there as well. */
static int make_layer(const struct plan *plan, int layers, const char *name,
		      mode_t mode, struct err *err)
{
	int fd = enter(plan, layers, name);

	if (fd < 0 || give(plan, fd) < 0 || fchmod(fd, mode) < 0) {
		(void)err_system(err, "image: make %s", name);
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	return fd;
}

int root_layers_begin(const struct plan *plan, struct err *err)
{
	auto_fd int layers = -1;
	auto_fd int upper = -1;
	auto_fd int work = -1;

	if (!plan->image)
		return 0;
	layers = open(plan->image_layers, DIR_FLAGS);
	if (layers < 0 || give(plan, layers) < 0)
		return err_system(err, "image: open %s", plan->image_layers);
	upper = make_layer(plan, layers, MOUNTS_UPPER, 0755, err);
	work = make_layer(plan, layers, MOUNTS_WORK, 0700, err);
	if (upper < 0 || work < 0)
		return -1;
	if (fsetxattr(upper, PROBE, "y", 1, 0) < 0 ||
	    fremovexattr(upper, PROBE) < 0)
		return err_set(err, ERR_UNSUPPORTED,
			       "image: the file system of %s keeps no extended "
			       "attributes (%s)",
			       plan->image_layers, strerror(errno));
	return make_places(plan, upper, err);
}
