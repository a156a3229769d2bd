#include "sandbox-host/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/mounts.h"
#include "sandbox-host/mounts_overlay.h"
#include "sandbox-host/overlay_parts.h"

#define LOCK		"lock"
#define STAGE		"stage"
#define UPPER		OVERLAY_LAYERS "/" MOUNTS_UPPER
#define PROBE_NAME	"user.sallyport"
#define ARENA_BYTES_MAX (64 * 1024 * 1024)

/* ---- before a sandbox ---- */

static int make_dir(int at, const char *name, const struct plan *plan,
		    mode_t mode, struct err *err)
{
	const struct plan_identity *identity = &plan->identity;
	auto_fd int fd = -1;

	if (mkdirat(at, name, 0700) < 0)
		return errno == EEXIST
			       ? 0
			       : err_system(err, "overlay: make %s", name);
	fd = overlay_open_dir(at, name);
	if (fd < 0 ||
	    (identity->is_privileged &&
	     fchown(fd, identity->uid, identity->gid) < 0) ||
	    fchmod(fd, mode) < 0)
		return err_system(err, "overlay: make %s", name);
	return 0;
}

/* Without extended attributes of the user's the kernel would mount it, and
 * fail in the middle of the work. */
static int check_attributes(int layers, struct err *err)
{
	auto_fd int fd = overlay_open_dir(layers, MOUNTS_UPPER);

	if (fd < 0)
		return err_system(err, "overlay: open the upper layer");
	if (fsetxattr(fd, PROBE_NAME, "y", 1, 0) < 0 ||
	    fremovexattr(fd, PROBE_NAME) < 0)
		return err_set(err, ERR_UNSUPPORTED,
			       "overlay: the file system of the state "
			       "directory keeps no extended attributes (%s): "
			       "name another by SALLYPORT_STATE",
			       strerror(errno));
	return 0;
}

static int make_layers(int fd, const struct plan *plan, struct err *err)
{
	auto_fd int layers = -1;
	struct stat st;

	if (stat(plan->workspace, &st) < 0)
		return err_system(err, "overlay: look at %s", plan->workspace);
	if (make_dir(fd, OVERLAY_LAYERS, plan, 0700, err) < 0)
		return -1;
	layers = overlay_open_dir(fd, OVERLAY_LAYERS);
	if (layers < 0)
		return err_system(err, "overlay: open the layers");
	/* What the workspace itself looks like inside. */
	if (make_dir(layers, MOUNTS_UPPER, plan, st.st_mode & 0777, err) < 0 ||
	    make_dir(layers, MOUNTS_WORK, plan, 0700, err) < 0)
		return -1;
	return check_attributes(layers, err);
}

static int take_lock(int fd, struct err *err)
{
	auto_fd int lock = openat(
		fd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (lock < 0)
		return err_system(err, "overlay: open the lock");
	if (flock(lock, LOCK_EX | LOCK_NB) == 0)
		return take_fd(&lock);
	if (errno != EWOULDBLOCK)
		return err_system(err, "overlay: take the lock");
	return err_set(err, ERR_DENIED,
		       "overlay: these changes are in use: end the sandbox "
		       "that makes them, or wait for the other command");
}

static int check_same(const struct overlay_record *record,
		      const struct stat *st, struct err *err)
{
	if (record->device == st->st_dev && record->inode == st->st_ino)
		return 0;
	return err_set(err, ERR_INVALID,
		       "overlay: %s is another directory than the one that "
		       "the changes were made in",
		       record->workspace);
}

/* Layers that are there keep their record: conflicts count from then. */
static int take_up(int fd, const struct plan *plan, struct err *err)
{
	auto_type(arena_release) struct arena arena;
	struct overlay_record record;
	struct err why = {0};
	struct stat st;

	arena_init(&arena, ARENA_BYTES_MAX);
	if (overlay_record_read(fd, &arena, &record, &why) < 0) {
		if (why.code == ERR_MISSING)
			return overlay_record_write(fd, plan, err);
		*err = why;
		return -1;
	}
	if (stat(plan->workspace, &st) < 0)
		return err_system(err, "overlay: look at %s", plan->workspace);
	return check_same(&record, &st, err);
}

int overlay_begin(const struct plan *plan, int *lock, struct err *err)
{
	char dir[PATH_MAX];
	auto_fd int fd = -1;
	auto_fd int held = -1;

	*lock = -1;
	if (!plan->layers)
		return 0;
	snprintf(dir, sizeof(dir), "%.*s",
		 (int)(strlen(plan->layers) - strlen("/" OVERLAY_LAYERS)),
		 plan->layers);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0700) < 0)
		return err_system(err, "overlay: open %s", dir);
	held = take_lock(fd, err);
	if (held < 0 || make_layers(fd, plan, err) < 0 ||
	    take_up(fd, plan, err) < 0)
		return -1;
	*lock = take_fd(&held);
	return 0;
}

/* ---- afterwards ---- */

static int open_sides(struct overlay *overlay, struct err *err)
{
	struct stat st;

	overlay->upper =
		openat(overlay->fd, UPPER,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (overlay->upper < 0)
		return err_system(err, "overlay: open the upper layer");
	overlay->lower = (int)syscall(
		SYS_openat2, AT_FDCWD, overlay->record.workspace,
		&(struct open_how){.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				   .resolve = RESOLVE_NO_SYMLINKS},
		sizeof(struct open_how));
	if (overlay->lower < 0 || fstat(overlay->lower, &st) < 0)
		return err_system(err, "overlay: open %s",
				  overlay->record.workspace);
	return check_same(&overlay->record, &st, err);
}

static int open_all(struct overlay *overlay, enum overlay_use use,
		    struct err *err)
{
	overlay->fd = open(overlay->dir,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (overlay->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(err, ERR_MISSING, "overlay: no changes there");
	if (overlay->fd < 0)
		return err_system(err, "overlay: open %s", overlay->dir);
	if (use != OVERLAY_LOOK) {
		overlay->lock = take_lock(overlay->fd, err);
		if (overlay->lock < 0)
			return -1;
	}
	if (use == OVERLAY_DROP)
		return 0;
	if (overlay_record_read(overlay->fd, &overlay->arena, &overlay->record,
				err) < 0)
		return -1;
	return open_sides(overlay, err);
}

struct overlay *overlay_open(const char *dir, enum overlay_use use,
			     struct err *err)
{
	struct overlay *overlay = calloc(1, sizeof(*overlay));
	size_t len = strlen(dir);

	if (!overlay || len >= sizeof(overlay->dir)) {
		free(overlay);
		err_set(err, ERR_TOO_LARGE, "overlay: no memory");
		return NULL;
	}
	memcpy(overlay->dir, dir, len + 1);
	overlay->fd = overlay->upper = overlay->lower = overlay->lock = -1;
	arena_init(&overlay->arena, ARENA_BYTES_MAX);
	if (open_all(overlay, use, err) == 0)
		return overlay;
	overlay_close(overlay);
	return NULL;
}

void overlay_close(struct overlay *overlay)
{
	if (!overlay)
		return;
	if (overlay->upper >= 0)
		(void)close(overlay->upper);
	if (overlay->lower >= 0)
		(void)close(overlay->lower);
	if (overlay->lock >= 0)
		(void)close(overlay->lock);
	if (overlay->fd >= 0)
		(void)close(overlay->fd);
	arena_release(&overlay->arena);
	free(overlay);
}

const char *overlay_workspace(const struct overlay *overlay)
{
	return overlay->record.workspace;
}

int64_t overlay_started(const struct overlay *overlay)
{
	return overlay->record.start_ns / 1000000000;
}

int overlay_discard(struct overlay *overlay, struct err *err)
{
	/* The record last but one: what is half gone is still known. */
	static const char *const names[] = {OVERLAY_LAYERS, STAGE, "record.new",
					    "record", LOCK};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (overlay_clear(overlay->fd, names[i], err) < 0)
			return -1;
	if (rmdir(overlay->dir) < 0)
		return err_system(err, "overlay: remove %s", overlay->dir);
	return 0;
}
