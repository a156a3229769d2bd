#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/store/store.h"

#define DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define OPAQUE	   "user.overlay.opaque"
#define WHITEOUT   "user.overlay.whiteout"
#define BLOCK	   (64 * 1024)
#define PIECE	   (16 * 1024 * 1024) /* so often the budget is looked at */

struct copy {
	bool is_layer;
	struct store_budget *budget;
	struct err *err;
};

static int copy_dir(const struct copy *copy, int from, int into,
		    unsigned depth);

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int spend(const struct copy *copy, uint64_t bytes)
{
	if (bytes > copy->budget->bytes)
		return err_set(copy->err, ERR_TOO_LARGE,
			       "it is larger than allowed");
	copy->budget->bytes -= bytes;
	return 0;
}

static int failed(const struct copy *copy, const char *what, const char *name)
{
	return err_system(copy->err, "%s %.200s", what, name);
}

/* What its owner must be able to do with it. */
static mode_t needed(const struct stat *st)
{
	return S_ISDIR(st->st_mode) ? 0500 : 0400;
}

/* It is as it was. */
static void restore(int source, const struct stat *st)
{
	if ((st->st_mode & needed(st)) != needed(st))
		(void)fchmod(source, st->st_mode & 07777);
}

/* What its owner may not read, who could change that, is opened all the same:
 * it may be read from here on. st: as it stands there. */
static int open_source(int from, const char *name, int flags,
		       const struct stat *st)
{
	auto_fd int place = -1;
	struct stat now;
	char path[64];

	if ((st->st_mode & needed(st)) == needed(st))
		return openat(from, name, flags);
	place = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	if (place < 0 || fstat(place, &now) < 0 || now.st_mode != st->st_mode ||
	    fchmodat(AT_FDCWD, path, (st->st_mode & 07777) | needed(st), 0) < 0)
		return -1;
	return openat(from, name, flags);
}

/* ---- files ---- */

/* From one place to another: holes stay holes. */
static int copy_range(const struct copy *copy, int from, int into, off_t at,
		      off_t end)
{
	static uint8_t block[BLOCK];

	/* The kernel shares blocks where the file system can. */
	while (at < end) {
		off_t to = at;
		size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE;
		ssize_t len = copy_file_range(from, &at, into, &to, want, 0);

		if (len <= 0)
			break;
		if (spend(copy, (uint64_t)len) < 0)
			return -1;
	}
	while (at < end) {
		size_t want = end - at < BLOCK ? (size_t)(end - at) : BLOCK;
		ssize_t len = pread(from, block, want, at);

		if (len <= 0)
			return (int)len;
		if (spend(copy, (uint64_t)len) < 0)
			return -1;
		if (pwrite(into, block, (size_t)len, at) != len)
			return failed(copy, "write", "a copy");
		at += len;
	}
	return 0;
}

static int copy_data(const struct copy *copy, int from, int into,
		     const struct stat *st)
{
	off_t at = 0;

	if (ftruncate(into, st->st_size) < 0)
		return failed(copy, "make", "a copy");
	while (at < st->st_size) {
		off_t data = lseek(from, at, SEEK_DATA);
		off_t end;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data < 0)
			return failed(copy, "read", "a file");
		end = lseek(from, data, SEEK_HOLE);
		if (end < 0 || copy_range(copy, from, into, data, end) < 0)
			return copy->err->code ? -1
					       : failed(copy, "read", "a file");
		at = end;
	}
	return 0;
}

static int copy_file(const struct copy *copy, int from, int into,
		     const char *name, const struct stat *was)
{
	auto_fd int source = open_source(from, name, FILE_FLAGS, was);
	auto_fd int target = -1;
	struct stat st;

	if (source < 0)
		return failed(copy, "read", name);
	restore(source, was);
	if (fstat(source, &st) < 0)
		return failed(copy, "read", name);
	/* It became something else: then it is left out as that is. */
	if (!S_ISREG(st.st_mode))
		return 0;
	if (copy->is_layer && st.st_size == 0 &&
	    fgetxattr(source, WHITEOUT, NULL, 0) >= 0)
		return mknodat(into, name, S_IFCHR, makedev(0, 0)) < 0
			       ? failed(copy, "make", name)
			       : 0;
	target = openat(into, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (target < 0)
		return failed(copy, "make", name);
	if (copy_data(copy, source, target, &st) < 0)
		return -1;
	(void)futimens(target,
		       (const struct timespec[]){st.st_atim, st.st_mtim});
	return fchmod(target, st.st_mode & 0777) < 0
		       ? failed(copy, "make", name)
		       : 0;
}

/* ---- the rest ---- */

static int copy_link(const struct copy *copy, int from, int into,
		     const char *name)
{
	char text[STORE_TEXT_MAX];
	ssize_t len = readlinkat(from, name, text, sizeof(text) - 1);

	if (len < 0)
		return failed(copy, "read", name);
	text[len] = '\0';
	return symlinkat(text, into, name) < 0 ? failed(copy, "make", name) : 0;
}

static int copy_open(const struct copy *copy, int source, int target,
		     unsigned depth, const struct stat *st)
{
	char value;

	if (copy->is_layer && fgetxattr(source, OPAQUE, &value, 1) == 1 &&
	    value == 'y' && fsetxattr(target, OPAQUE, "y", 1, 0) < 0)
		return failed(copy, "make", "a directory");
	if (copy_dir(copy, source, target, depth + 1) < 0)
		return -1;
	(void)futimens(target,
		       (const struct timespec[]){st->st_atim, st->st_mtim});
	return fchmod(target, st->st_mode & 0777) < 0
		       ? failed(copy, "make", "a directory")
		       : 0;
}

static int copy_below(const struct copy *copy, int from, int into,
		      const char *name, unsigned depth, const struct stat *st)
{
	auto_fd int source = open_source(from, name, DIR_FLAGS, st);
	auto_fd int target = -1;
	int rc;

	if (source < 0)
		return failed(copy, "read", name);
	if (mkdirat(into, name, 0700) == 0)
		target = openat(into, name, DIR_FLAGS);
	rc = target < 0 ? failed(copy, "make", name)
			: copy_open(copy, source, target, depth, st);
	restore(source, st);
	return rc;
}

static int copy_entry(const struct copy *copy, int from, int into,
		      const char *name, unsigned depth)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : failed(copy, "look at", name);
	if (copy->budget->entries-- == 0)
		return err_set(copy->err, ERR_TOO_LARGE,
			       "it has too many entries");
	if (S_ISDIR(st.st_mode))
		return copy_below(copy, from, into, name, depth, &st);
	if (S_ISREG(st.st_mode))
		return copy_file(copy, from, into, name, &st);
	if (S_ISLNK(st.st_mode))
		return copy_link(copy, from, into, name);
	if (copy->is_layer && S_ISCHR(st.st_mode) &&
	    st.st_rdev == makedev(0, 0))
		return mknodat(into, name, S_IFCHR, makedev(0, 0)) < 0
			       ? failed(copy, "make", name)
			       : 0;
	return 0;
}

static int copy_dir(const struct copy *copy, int from, int into, unsigned depth)
{
	int fd = fcntl(from, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return failed(copy, "list", "a directory");
	}
	if (depth > COPY_DEPTH_MAX)
		rc = err_set(copy->err, ERR_TOO_LARGE,
			     "directories are more than %d deep",
			     COPY_DEPTH_MAX);
	while (rc == 0 && (entry = readdir(dir)))
		if (!is_dots(entry->d_name))
			rc = copy_entry(copy, from, into, entry->d_name, depth);
	(void)closedir(dir);
	return rc;
}

int copy_tree(int from, int into, bool is_layer, struct store_budget *budget,
	      struct err *err)
{
	const struct copy copy = {is_layer, budget, err};
	struct stat st;
	int rc;

	*err = (struct err){0};
	/* Whoever opened it may have needed no permission; we do. */
	if (fstat(from, &st) < 0 ||
	    ((st.st_mode & needed(&st)) != needed(&st) &&
	     fchmod(from, (st.st_mode & 07777) | needed(&st)) < 0))
		return failed(&copy, "read", "the directory");
	rc = copy_dir(&copy, from, into, 0);
	restore(from, &st);
	return rc;
}

/* ---- cleaning ---- */

static int clean_dir(int fd, unsigned depth, struct err *err);

static int clean_entry(int dir, const char *name, unsigned depth,
		       struct err *err)
{
	auto_fd int fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_system(err, "look at %.200s", name);
	if (S_ISLNK(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return unlinkat(dir, name, 0) < 0
			       ? err_system(err, "remove %.200s", name)
			       : 0;
	/* Unreadable ones of our own are opened first. */
	if (fchmodat(dir, name,
		     (st.st_mode & 0777) |
			     (S_ISDIR(st.st_mode) ? 0700u : 0400u),
		     0) < 0)
		return err_system(err, "change %.200s", name);
	fd = openat(dir, name, S_ISDIR(st.st_mode) ? DIR_FLAGS : FILE_FLAGS);
	if (fd < 0)
		return err_system(err, "open %.200s", name);
	(void)fremovexattr(fd, OPAQUE);
	(void)fremovexattr(fd, WHITEOUT);
	return S_ISDIR(st.st_mode) ? clean_dir(fd, depth + 1, err) : 0;
}

static int clean_dir(int fd, unsigned depth, struct err *err)
{
	int own = openat(fd, ".", DIR_FLAGS);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	struct dirent *entry;
	int rc = 0;

	if (!dir) {
		if (own >= 0)
			(void)close(own);
		return err_system(err, "list a directory");
	}
	if (depth > STORE_DEPTH_MAX)
		rc = err_set(err, ERR_TOO_LARGE,
			     "directories are more than %d deep",
			     STORE_DEPTH_MAX);
	while (rc == 0 && (entry = readdir(dir)))
		if (!is_dots(entry->d_name))
			rc = clean_entry(fd, entry->d_name, depth, err);
	(void)closedir(dir);
	return rc;
}

int copy_clean(int tree, struct err *err)
{
	return clean_dir(tree, 0, err);
}
