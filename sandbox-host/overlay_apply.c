/* One change, put into the user's directory. */
#include "sandbox-host/overlay_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#define STAGE	    "stage"
#define STAGED	    "new"
#define COPY_CHUNK  (1024 * 1024)
#define FD_PATH_MAX 64

/* A file of the layer that has more names, and where the first one went. */
struct overlay_link {
	ino_t inode;
	ino_t made; /* in the user's directory */
	char *path;
};

/* A directory of the user's that its owner may not write, and its mode. */
struct overlay_opened {
	ino_t inode;
	mode_t mode;
	char *path;
};

static void cleanup_stage(const int *fd)
{
	(void)unlinkat(*fd, STAGED, 0);
}

int overlay_apply_begin(struct overlay_apply *apply,
			const struct overlay *overlay, struct err *err)
{
	struct stat stage, lower;

	*apply = (struct overlay_apply){
		.stage = -1,
		.gives = geteuid() == 0,
		.uid = overlay->record.uid,
		.gid = overlay->record.gid,
		.lower = overlay->lower,
	};
	if (mkdirat(overlay->fd, STAGE, 0700) < 0 && errno != EEXIST)
		return err_system(err, "commit: make a directory");
	apply->stage = overlay_open_dir(overlay->fd, STAGE);
	if (apply->stage < 0 || fstat(apply->stage, &stage) < 0 ||
	    fstat(apply->lower, &lower) < 0)
		return err_system(err, "commit: open a directory");
	/* A commit that was killed. */
	(void)unlinkat(apply->stage, STAGED, 0);
	if (stage.st_dev != lower.st_dev) {
		(void)close(apply->stage);
		apply->stage = -1;
	}
	return 0;
}

static int open_below(const struct overlay_apply *apply, const char *path,
		      uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve =
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, apply->lower, path, &how, sizeof(how));
}

/* ---- directories that their owner may not write ---- */

static int remember_opened(struct overlay_apply *apply, const char *path,
			   const struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char *parent =
		slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	struct overlay_opened *opened =
		apply->opened_count == OVERLAY_LINKS_MAX
			? NULL
			: reallocarray(apply->opened, apply->opened_count + 1,
				       sizeof(*opened));

	if (opened)
		apply->opened = opened;
	if (!opened || !parent) {
		free(parent);
		errno = ENOMEM;
		return -1;
	}
	opened[apply->opened_count++] = (struct overlay_opened){
		st->st_ino, st->st_mode & 07777, parent};
	return 0;
}

/* Let names come and go in the directory of a change. */
static int open_parent(struct overlay_apply *apply,
		       const struct overlay_change *change, struct err *err)
{
	struct stat st;

	if (fstat(change->before_dir, &st) < 0)
		return err_system(err, "commit %s", change->path);
	if ((st.st_mode & 0300) == 0300 || geteuid() == 0)
		return 0;
	if (remember_opened(apply, change->path, &st) < 0 ||
	    fchmod(change->before_dir, (st.st_mode & 07777) | 0700) < 0)
		return err_system(err, "commit %s: its directory is closed",
				  change->path);
	return 0;
}

static void close_again(const struct overlay_apply *apply,
			const struct overlay_opened *opened)
{
	auto_fd int fd =
		open_below(apply, opened->path, O_RDONLY | O_DIRECTORY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == opened->inode)
		(void)!fchmod(fd, opened->mode);
}

void overlay_apply_end(struct overlay_apply *apply)
{
	while (apply->opened_count) {
		close_again(apply, &apply->opened[--apply->opened_count]);
		free(apply->opened[apply->opened_count].path);
	}
	free(apply->opened);
	if (apply->stage >= 0)
		(void)close(apply->stage);
	for (size_t i = 0; i < apply->link_count; i++)
		free(apply->links[i].path);
	free(apply->links);
}

static int fail(const struct overlay_change *change, struct err *err)
{
	return err_system(err, "commit %s", change->path);
}

/* ---- files ---- */

static int copy_range(int from, int to, off_t start, off_t end)
{
	char buffer[65536];

	if (lseek(to, start, SEEK_SET) < 0 || lseek(from, start, SEEK_SET) < 0)
		return -1;
	while (start < end) {
		size_t want = end - start < COPY_CHUNK ? (size_t)(end - start)
						       : COPY_CHUNK;
		ssize_t done = copy_file_range(from, NULL, to, NULL, want, 0);
		ssize_t put = 0;

		if (done < 0) { /* EXDEV and what else the two can not do */
			done = read(from, buffer,
				    want < sizeof(buffer) ? want
							  : sizeof(buffer));
			if (done > 0)
				put = write(to, buffer, (size_t)done);
			if (done < 0 || (done > 0 && put != done))
				return -1;
		}
		if (done == 0) /* it became shorter: nobody should */
			return 0;
		start += done;
	}
	return 0;
}

/* Holes stay holes: a file of a terabyte may be a few blocks. */
static int copy_text(int from, int to)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return -1;
	while (at < st.st_size) {
		off_t start = lseek(from, at, SEEK_DATA);
		off_t end;

		if (start < 0 && errno == ENXIO)
			return 0;
		end = start < 0 ? -1 : lseek(from, start, SEEK_HOLE);
		if (end < 0 || copy_range(from, to, start, end) < 0)
			return -1;
		at = end;
	}
	return 0;
}

static int dress(const struct overlay_apply *apply,
		 const struct overlay_change *change, int fd)
{
	const struct timespec times[] = {change->after->st_atim,
					 change->after->st_mtim};

	if (apply->gives && fchown(fd, apply->uid, apply->gid) < 0)
		return -1;
	if (fchmod(fd, change->after->st_mode & 0777) < 0)
		return -1;
	return S_ISREG(change->after->st_mode) ? futimens(fd, times) : 0;
}

/* Give what is staged its name. EXDEV: it is another mount after all. */
static int move_staged(const struct overlay_apply *apply,
		       const struct overlay_change *change)
{
	return renameat(apply->stage, STAGED, change->before_dir, change->name);
}

/* Take away what has the name now, if anything. */
static int make_room(const struct overlay_change *change)
{
	return unlinkat(change->before_dir, change->name, 0) == 0 ||
			       errno == ENOENT
		       ? 0
		       : -1;
}

static int link_fd(int fd, const struct overlay_change *change)
{
	char path[FD_PATH_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, change->before_dir, change->name,
		      AT_SYMLINK_FOLLOW);
}

static int put_staged(const struct overlay_apply *apply,
		      const struct overlay_change *change, int from)
{
	__attribute__((cleanup(cleanup_stage))) int stage = apply->stage;
	auto_fd int to = openat(
		stage, STAGED,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (to < 0 || copy_text(from, to) < 0 || dress(apply, change, to) < 0)
		return -1;
	return move_staged(apply, change);
}

static int put_nameless(const struct overlay_apply *apply,
			const struct overlay_change *change, int from)
{
	auto_fd int to = openat(change->before_dir, ".",
				O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);

	if (to < 0 || copy_text(from, to) < 0 || dress(apply, change, to) < 0 ||
	    fdatasync(to) < 0)
		return -1;
	return make_room(change) < 0 ? -1 : link_fd(to, change);
}

static int put_copy(struct overlay_apply *apply,
		    const struct overlay_change *change, struct err *err)
{
	auto_fd int from = overlay_open_after(change);

	if (from < 0)
		return fail(change, err);
	if (apply->stage >= 0) {
		if (put_staged(apply, change, from) == 0)
			return 0;
		if (errno != EXDEV)
			return fail(change, err);
		(void)close(apply->stage);
		apply->stage = -1;
	}
	return put_nameless(apply, change, from) < 0 ? fail(change, err) : 0;
}

static const struct overlay_link *find_link(const struct overlay_apply *apply,
					    ino_t inode)
{
	for (size_t i = 0; i < apply->link_count; i++)
		if (apply->links[i].inode == inode)
			return &apply->links[i];
	return NULL;
}

/* The file that an earlier name got, if it is that still. -1. */
static int open_link(const struct overlay_apply *apply,
		     const struct overlay_link *link)
{
	auto_fd int fd = open_below(apply, link->path, O_PATH);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != link->made)
		return -1;
	return take_fd(&fd);
}

static void remember_link(struct overlay_apply *apply,
			  const struct overlay_change *change)
{
	struct overlay_link *links;
	struct stat st;

	if (apply->link_count == OVERLAY_LINKS_MAX ||
	    fstatat(change->before_dir, change->name, &st,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return;
	links = reallocarray(apply->links, apply->link_count + 1,
			     sizeof(*links));
	if (!links)
		return;
	apply->links = links;
	links[apply->link_count] = (struct overlay_link){
		change->after->st_ino, st.st_ino, strdup(change->path)};
	apply->link_count += links[apply->link_count].path != NULL;
}

/* Names of one file stay so; where that fails they become files. */
static int put_file(struct overlay_apply *apply,
		    const struct overlay_change *change, struct err *err)
{
	const struct overlay_link *link =
		change->after->st_nlink > 1
			? find_link(apply, change->after->st_ino)
			: NULL;
	auto_fd int fd = link ? open_link(apply, link) : -1;

	if (fd >= 0 && make_room(change) == 0 && link_fd(fd, change) == 0)
		return 0;
	if (put_copy(apply, change, err) < 0)
		return -1;
	if (change->after->st_nlink > 1 && !link)
		remember_link(apply, change);
	return 0;
}

/* ---- the rest ---- */

static int put_symlink(struct overlay_apply *apply,
		       const struct overlay_change *change, struct err *err)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(change->after_dir, change->name, target,
				 sizeof(target) - 1);
	__attribute__((cleanup(cleanup_stage))) int stage = apply->stage;
	int dir = stage >= 0 ? stage : change->before_dir;
	const char *name = stage >= 0 ? STAGED : change->name;

	if (len < 0)
		return fail(change, err);
	target[len] = '\0';
	if ((stage < 0 && make_room(change) < 0) ||
	    symlinkat(target, dir, name) < 0 ||
	    (apply->gives && fchownat(dir, name, apply->uid, apply->gid,
				      AT_SYMLINK_NOFOLLOW) < 0))
		return fail(change, err);
	if (stage < 0 || move_staged(apply, change) == 0)
		return 0;
	if (errno != EXDEV)
		return fail(change, err);
	(void)unlinkat(stage, STAGED, 0);
	(void)close(apply->stage);
	apply->stage = -1;
	stage = -1;
	return put_symlink(apply, change, err);
}

static int put_directory(const struct overlay_apply *apply,
			 const struct overlay_change *change, struct err *err)
{
	auto_fd int fd = -1;

	if (change->kind == OVERLAY_ADDED &&
	    mkdirat(change->before_dir, change->name, 0700) < 0)
		return fail(change, err);
	fd = overlay_open_dir(change->before_dir, change->name);
	if (fd < 0 || dress(apply, change, fd) < 0)
		return fail(change, err);
	return 0;
}

int overlay_apply(struct overlay_apply *apply,
		  const struct overlay_change *change, struct err *err)
{
	if (change->before_dir < 0)
		return err_set(err, ERR_MISSING,
			       "commit %s: the directory that it is in is gone",
			       change->path);
	if (open_parent(apply, change, err) < 0)
		return -1;
	if (change->kind == OVERLAY_DELETED)
		return overlay_remove(change->before_dir, change->name, err);
	if (change->type == OVERLAY_FILE)
		return put_file(apply, change, err);
	if (change->type == OVERLAY_LINK)
		return put_symlink(apply, change, err);
	return put_directory(apply, change, err);
}
