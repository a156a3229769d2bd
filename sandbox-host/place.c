#include "sandbox-host/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/plan_parts.h"

#define LINKS_MAX  40
#define PAGE	   4096
#define SHORT_PATH 256 /* most are shorter; one page, most often */

/* Kernel 6.8: a number that no other mount has after this one. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000u
#endif

ssize_t place_read_memory(pid_t pid, uint64_t address, void *out, size_t len)
{
	size_t first = PAGE - address % PAGE;
	struct iovec local = {out, len};
	struct iovec remote[2];

	/* Cut at the page: the second part may not be mapped. */
	if (first > len)
		first = len;
	remote[0] = (struct iovec){(void *)(uintptr_t)address, first};
	remote[1] = (struct iovec){(void *)(uintptr_t)(address + first),
				   len - first};
	return process_vm_readv(pid, &local, 1, remote, len > first ? 2 : 1, 0);
}

int place_read_string(pid_t pid, uint64_t address, char out[PATH_MAX])
{
	ssize_t len = place_read_memory(pid, address, out, SHORT_PATH);

	if (len == SHORT_PATH && !memchr(out, '\0', SHORT_PATH))
		len = place_read_memory(pid, address, out, PATH_MAX);
	if (len <= 0)
		return len < 0 && errno != EFAULT ? -EACCES : -EFAULT;
	if (!memchr(out, '\0', (size_t)len))
		return len == PATH_MAX ? -ENAMETOOLONG : -EFAULT;
	return out[0] ? 0 : -ENOENT;
}

void place_read_strings(pid_t pid, const uint64_t addresses[2],
			char (*out)[PATH_MAX], int results[2])
{
	struct iovec local[2], remote[2];
	bool is_done;

	for (int i = 0; i < 2; i++) {
		local[i] = (struct iovec){out[i], SHORT_PATH};
		remote[i] = (struct iovec){(void *)(uintptr_t)addresses[i],
					   SHORT_PATH};
	}
	is_done =
		process_vm_readv(pid, local, 2, remote, 2, 0) == 2 * SHORT_PATH;
	for (int i = 0; i < 2; i++)
		if (is_done && memchr(out[i], '\0', SHORT_PATH))
			results[i] = out[i][0] ? 0 : -ENOENT;
		else
			results[i] =
				place_read_string(pid, addresses[i], out[i]);
}

static int read_link(const char *link, char out[PATH_MAX])
{
	ssize_t len = readlink(link, out, PATH_MAX);

	if (len < 0)
		return -errno;
	if (len == PATH_MAX)
		return -ENAMETOOLONG;
	out[len] = '\0';
	return 0;
}

/* Of what has no name any more the kernel says which it had, with this after
 * it: something else may be called so by now. link: in dir, to what text says
 * that it leads to. 0, or a negative errno. */
static int check_gone(int root, int dir, const char *link, const char *text)
{
	static const char end[] = " (deleted)";
	size_t len = strlen(text);
	struct stat there, named;

	if (len < sizeof(end) || strcmp(text + len - strlen(end), end) != 0 ||
	    fstatat(root, text + 1, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (fstatat(dir, link, &there, 0) < 0)
		return -errno;
	return there.st_ino == named.st_ino && there.st_dev == named.st_dev
		       ? 0
		       : -EACCES;
}

/* Put base and name together, in place of what is in path; one of them may be
 * what is there: all of it is the base, its end is the name. */
static int join(char path[PATH_MAX], const char *base, const char *name)
{
	size_t len = strcmp(base, "/") ? strlen(base) : 0;
	size_t rest = strlen(name);

	if (len + 1 + rest >= PATH_MAX)
		return -ENAMETOOLONG;
	memmove(path + len + 1, name, rest + 1);
	memmove(path, base, len);
	path[len] = '/';
	return 0;
}

/* The directory that a relative path starts from. */
static int read_base(const struct place_view *view, int dir, char out[PATH_MAX])
{
	char link[64];

	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", (int)view->pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)view->pid,
			 dir);
	if (read_link(link, out) < 0)
		return dir == AT_FDCWD ? -EACCES : -EBADF;
	if (out[0] != '/')
		return -ENOTDIR;
	return check_gone(view->root, AT_FDCWD, link, out);
}

static int open_path(int root, const char *path, uint64_t flags,
		     uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | resolve,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int open_below(int root, const char *path, uint64_t flags)
{
	int fd = open_path(root, path, flags, 0);

	if (fd >= 0)
		return fd;
	/* A magic link of /proc on the way: nobody needs that to write. */
	return errno == EXDEV || errno == ELOOP ? -EACCES : -errno;
}

static int path_of(int fd, char out[PATH_MAX])
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return read_link(link, out);
}

/* What rest means below the program's own entry in the sandbox's /proc, where
 * no magic link may be on the way. */
static int find_own(struct place *place, int root, pid_t pid, const char *rest)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	char entry[64];
	auto_fd int dir = -1;
	auto_fd int fd = -1;
	struct stat st;

	snprintf(entry, sizeof(entry), "/proc/%d",
		 (int)place_number(pid, "NSpid"));
	dir = open_path(root, entry, O_DIRECTORY, 0);
	fd = dir < 0 ? -1
		     : (int)syscall(SYS_openat2, dir, rest, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? -ENOENT : -EACCES;
	place->is_read_only = true;
	place->exists = true;
	place->is_handle = S_ISLNK(st.st_mode);
	place->handle[0] = '\0';
	return join(place->path, "/proc/self", rest);
}

/* What is behind /proc/self or /proc/thread-self; NULL: another path. *pid
 * becomes whose entry that is: threads need not share the directories and
 * descriptors of their process. 0: it is not known. */
static char *behind_self(char path[PATH_MAX], pid_t *pid)
{
	static const char self[] = "/proc/self";
	static const char thread[] = "/proc/thread-self";

	if (plan_is_within(path, thread))
		return path + strlen(thread) + (path[strlen(thread)] == '/');
	if (plan_is_within(path, self)) {
		*pid = place_number(*pid, "Tgid");
		return path + strlen(self) + (path[strlen(self)] == '/');
	}
	if (strncmp(path, "/dev/fd/", 8) != 0)
		return NULL;
	*pid = place_number(*pid, "Tgid"); /* a link to /proc/self/fd */
	return path + strlen("/dev/");
}

/* A link of its own to a place, which has that place's name. */
static bool is_place(const char *rest, bool follow)
{
	return follow && (!strcmp(rest, "cwd") || !strcmp(rest, "exe"));
}

/* /proc/self means somebody else here: follow what is after it by the
 * program's own entry. 1: path was replaced; 0: not of this kind. */
static int expand_self(struct place *place, const struct place_view *view,
		       bool follow, char path[PATH_MAX])
{
	char link[PATH_MAX + 32];
	char base[PATH_MAX];
	pid_t pid = view->pid;
	char *rest = behind_self(path, &pid);
	bool is_end;
	char *after;
	int rc;

	if (!rest)
		return 0;
	if (pid <= 0)
		return -EACCES;
	after = rest + strcspn(rest, "/");
	if (!strncmp(rest, "fd/", 3))
		after = rest + 3 + strcspn(rest + 3, "/");
	is_end = *after == '\0';
	if (is_end && !is_place(rest, follow)) {
		place->is_handle = !strncmp(rest, "fd/", 3);
		(void)snprintf(place->handle, sizeof(place->handle),
			       "/proc/%d/%s", (int)pid, rest);
		place->is_read_only = true;
		place->exists = true;
		memcpy(place->path, path, strlen(path) + 1);
		return 0;
	}
	if (!is_end)
		*after++ = '\0';
	snprintf(link, sizeof(link), "/proc/%d/%s", (int)pid, rest);
	rc = read_link(link, base);
	if (rc == -EINVAL &&
	    !is_end) { /* no link: what is below it is of /proc */
		*--after = '/';
		return find_own(place, view->root, pid, rest);
	}
	if (rc < 0 || base[0] != '/')
		return -EACCES;
	rc = check_gone(view->root, AT_FDCWD, link, base);
	if (is_end)
		memcpy(path, base, strlen(base) + 1);
	else if (rc == 0)
		rc = join(path, base, after);
	return rc < 0 ? rc : 1;
}

/* Cut the last component off. NULL when path names a directory by itself
 * ("/", "x/.", "x/.."). */
static char *split_last(char path[PATH_MAX])
{
	size_t len = strlen(path);
	char *name;

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	name = strrchr(path, '/');
	if (!name || !strcmp(name, "/.") || !strcmp(name, "/..") || !name[1])
		return NULL;
	*name = '\0';
	return name + 1;
}

/* Is it one of the mounts that were found writable? */
static bool is_known(const struct place_view *view, const struct statx *st)
{
	if (!(st->stx_mask & STATX_MNT_ID_UNIQUE))
		return false;
	for (size_t i = 0; i < PLACE_MOUNTS; i++)
		if (view->writable[i] == st->stx_mnt_id)
			return true;
	return false;
}

static void learn_writable(struct place_view *view, const struct statx *st)
{
	if (!(st->stx_mask & STATX_MNT_ID_UNIQUE))
		return;
	view->writable[view->next_writable] = st->stx_mnt_id;
	view->next_writable = (view->next_writable + 1) % PLACE_MOUNTS;
}

static int look_at(int dir, const char *name, int flags, struct statx *st)
{
	return statx(dir, name,
		     flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
			     AT_STATX_DONT_SYNC,
		     STATX_TYPE | STATX_MODE | STATX_MNT_ID_UNIQUE, st) < 0
		       ? -errno
		       : 0;
}

/* What fd is, which was opened below the view's root. */
static int fill(struct place *place, struct place_view *view, int fd,
		bool exists)
{
	struct statvfs mount;
	struct statx st;
	int rc = look_at(fd, "", AT_EMPTY_PATH, &st);

	if (rc < 0)
		return rc;
	place->exists = exists;
	place->is_read_only = false;
	place->mode = st.stx_mode;
	if (is_known(view, &st))
		return 0;
	if (fstatvfs(fd, &mount) < 0)
		return -errno;
	place->is_read_only = mount.f_flag & ST_RDONLY;
	if (!place->is_read_only)
		learn_writable(view, &st);
	return 0;
}

static int find_directory(struct place *place, struct place_view *view,
			  const char *path)
{
	auto_fd int fd = open_below(view->root, path, 0);
	int rc = fd < 0 ? fd : path_of(fd, place->path);

	return rc < 0 ? rc : fill(place, view, fd, true);
}

/* One round: the view's way, up to a link at its end. 1: it holds where the
 * link leads; 0: place is known. */
static int find_step(struct place *place, struct place_view *view, bool follow)
{
	char *path = view->at;
	char whole[PATH_MAX];
	char target[PATH_MAX];
	auto_fd int dir = -1;
	auto_fd int object = -1;
	char *name;
	ssize_t len;
	int rc;

	memcpy(whole, path, PATH_MAX);
	name = split_last(path);
	if (!name)
		return find_directory(place, view, whole);
	dir = open_below(view->root, path[0] ? path : "/", O_DIRECTORY);
	rc = dir < 0 ? dir : path_of(dir, target);
	if (rc < 0)
		return rc;
	rc = join(place->path, target, name);
	if (rc < 0)
		return rc;
	object = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (object < 0)
		return errno == ENOENT ? fill(place, view, dir, false) : -errno;
	rc = fill(place, view, object, true);
	if (rc < 0 || !follow || !S_ISLNK(place->mode))
		return rc;
	memcpy(whole, target, PATH_MAX);
	len = readlinkat(object, "", target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	if (target[0] == '/') {
		rc = check_gone(view->root, dir, name, target);
		memcpy(path, target, (size_t)len + 1);
	} else {
		rc = join(path, whole, target);
	}
	return rc < 0 ? rc : 1;
}

/* Is it absolute and of names alone, as the kernel would print it? */
static bool is_plain(const char *path)
{
	while (*path == '/') {
		size_t len = strcspn(path + 1, "/");

		if (len == 0 || (len == 1 && path[1] == '.') ||
		    (len == 2 && path[1] == '.' && path[2] == '.'))
			return false;
		path += 1 + len;
	}
	return *path == '\0';
}

/* What has a name in a directory, or does not exist in it, on a mount that is
 * known. 0: place is known; 1: it is of another kind, or is to be explained. */
static int find_name(struct place *place, const struct place_view *view,
		     int dir, const char *name, bool follow)
{
	struct statx st;
	int rc = look_at(dir, name, 0, &st);

	if (rc < 0 || !is_known(view, &st) || (follow && S_ISLNK(st.stx_mode)))
		return rc == -ENOENT ? -ENOENT : 1;
	place->exists = true;
	place->mode = st.stx_mode;
	return 0;
}

/* A name alone, in the working directory or a descriptor's, whose path the
 * kernel has just told: no link is on it. Nothing is opened. Should another
 * thread put a link on it meanwhile, what is found is still on a mount that
 * was found below the root; where the call itself goes then nobody could say
 * before either. */
static int find_near(struct place *place, const struct place_view *view,
		     bool follow)
{
	const char *path = view->at;
	const char *slash = strrchr(path, '/');
	struct statx st;
	char parent[PATH_MAX];
	int rc = find_name(place, view, view->root, path + 1, follow);

	if (rc != -ENOENT)
		return rc;
	/* The directory must be there: else it is not where this looked. */
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	rc = look_at(view->root, parent[0] ? parent + 1 : ".", 0, &st);
	return rc == 0 && is_known(view, &st) && S_ISDIR(st.stx_mode) ? 0 : 1;
}

/* The most frequent kind, with the fewest calls: a path of names alone with
 * no link on its way is the real one. 0: place is known; 1: it is of another
 * kind, or is to be explained. */
static int find_plain(struct place *place, struct place_view *view, bool follow)
{
	char *path = view->at;
	char *slash = strrchr(path, '/');
	auto_fd int dir = -1;
	auto_fd int fd = -1;
	int rc;

	*slash = '\0';
	dir = open_path(view->root, slash == path ? "/" : path, O_DIRECTORY,
			RESOLVE_NO_SYMLINKS);
	*slash = '/';
	if (dir < 0)
		return 1;
	rc = find_name(place, view, dir, slash + 1, follow);
	if (rc == -ENOENT)
		return fill(place, view, dir, false);
	if (rc == 0)
		return 0;
	fd = openat(dir, slash + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || fill(place, view, fd, true) < 0 ||
			       (follow && S_ISLNK(place->mode))
		       ? 1
		       : 0;
}

/* With few calls, where that will do. As find_plain(). */
static int find_quickly(struct place *place, struct place_view *view,
			const char *name, bool follow)
{
	int rc;

	if (!is_plain(view->at))
		return 1;
	rc = strchr(name, '/') ? 1 : find_near(place, view, follow);
	if (rc != 0)
		rc = find_plain(place, view, follow);
	if (rc == 0)
		memcpy(place->path, view->at, strlen(view->at) + 1);
	return rc;
}

/* Begin the way: put what path is relative to before it. */
static int begin_way(struct place_view *view, int dir, const char *path)
{
	int rc = 0;

	if (path[0] == '/') {
		memcpy(view->at, path, strlen(path) + 1);
		return 0;
	}
	if (dir != AT_FDCWD) {
		rc = read_base(view, dir, view->at);
		return rc < 0 ? rc : join(view->at, view->at, path);
	}
	if (!view->cwd[0])
		rc = read_base(view, dir, view->cwd);
	if (rc < 0)
		view->cwd[0] = '\0';
	return rc < 0 ? rc : join(view->at, view->cwd, path);
}

void place_begin(struct place_view *view, int root, pid_t pid)
{
	view->root = root;
	view->pid = pid;
	view->cwd[0] = '\0';
}

int place_find(struct place *place, struct place_view *view, int dir,
	       const char *path, bool follow)
{
	int rc = begin_way(view, dir, path);

	place->path[0] = '\0';
	place->exists = place->is_read_only = place->is_handle = false;
	place->mode = 0;
	if (rc < 0 || find_quickly(place, view, path, follow) == 0)
		return rc;
	for (unsigned links = 0; links < LINKS_MAX; links++) {
		rc = expand_self(place, view, follow, view->at);
		if (rc < 0 || (rc == 0 && place->path[0]))
			return rc;
		if (rc == 1)
			continue;
		rc = find_step(place, view, follow);
		if (rc != 1)
			return rc;
		place->path[0] = '\0';
	}
	return -ELOOP;
}
