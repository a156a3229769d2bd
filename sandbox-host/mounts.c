#include "sandbox-host/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

/* Any directory that exists will do: it is left at once. */
#define ROOT_AT "/tmp"

int mounts_open(const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

int mounts_enter_root(struct err *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_system(err, "root: make the mounts private");
	if (mount("tmpfs", ROOT_AT, "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=0755") < 0)
		return err_system(err, "root: mount a tmpfs (doctor says what "
				       "this host lacks)");
	if (mkdir(ROOT_AT MOUNTS_OLD, 0700) < 0)
		return err_system(err, "root: make " MOUNTS_OLD);
	if (syscall(SYS_pivot_root, ROOT_AT, ROOT_AT MOUNTS_OLD) < 0)
		return err_system(err, "root: pivot");
	if (chdir("/") < 0)
		return err_system(err, "root: enter");
	return 0;
}

int mounts_detach(const char *path, struct err *err)
{
	if (umount2(path, MNT_DETACH) < 0)
		return err_system(err, "root: detach %s", path);
	if (rmdir(path) < 0)
		return err_system(err, "root: remove %s", path);
	return 0;
}

static int make_parents(const char *path, struct err *err)
{
	char text[PATH_MAX];
	int len = snprintf(text, sizeof(text), "%s", path);

	if (len < 0 || (size_t)len >= sizeof(text))
		return err_set(err, ERR_TOO_LARGE, "mount: a long path");
	for (char *at = strchr(text + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(text, 0755) < 0 && errno != EEXIST && errno != EROFS)
			return err_system(err, "make the directory %s", text);
		*at = '/';
	}
	return 0;
}

int mounts_make_dir(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) == 0)
		return chmod(path, mode) == 0
			       ? 0
			       : err_system(err, "make %s", path);
	if (errno == EEXIST)
		return 0;
	if (errno != ENOENT || make_parents(path, err) < 0)
		return err_system(err, "make the directory %s", path);
	if (mkdir(path, mode) < 0 || chmod(path, mode) < 0)
		return err_system(err, "make the directory %s", path);
	return 0;
}

int mounts_make_file(const char *path, mode_t mode, struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	auto_fd int fd = open(path, flags, mode);

	if (fd < 0 && errno == ENOENT) {
		if (make_parents(path, err) < 0)
			return -1;
		fd = open(path, flags, mode);
	}
	return fd < 0 ? err_system(err, "make the file %s", path) : 0;
}

int mounts_clone_fd(int fd, const char *path, struct err *err)
{
	struct stat st;
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
	int tree;

	if (fstat(fd, &st) < 0)
		return err_system(err, "look at %s", path);
	if (S_ISDIR(st.st_mode))
		flags |= AT_RECURSIVE;
	tree = open_tree(fd, "", flags);
	return tree < 0 ? err_system(err, "copy the mount of %s", path) : tree;
}

int mounts_clone(const char *path, struct err *err)
{
	auto_fd int fd = mounts_open(path);

	if (fd < 0)
		return err_system(err, "open %s", path);
	return mounts_clone_fd(fd, path, err);
}

int mounts_restrict(int tree, uint64_t attributes, const char *path,
		    struct err *err)
{
	struct mount_attr attr = {.attr_set = attributes,
				  .propagation = MS_PRIVATE};

	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			  sizeof(attr)) < 0)
		return err_system(err, "restrict the mount of %s", path);
	return 0;
}

int mounts_idmap(int tree, int user_namespace, const char *path,
		 struct err *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP,
				  .userns_fd = (uint64_t)user_namespace};

	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			  sizeof(attr)) == 0)
		return 0;
	if (errno != EINVAL && errno != EPERM)
		return err_system(err, "id-map %s", path);
	return err_set(err, ERR_UNSUPPORTED,
		       "id-map %s: its file system can not be id-mapped "
		       "(%s): run as an ordinary user, or put it on ext4, "
		       "xfs or btrfs",
		       path, strerror(errno));
}

int mounts_attach_fd(int tree, int target, const char *path, struct err *err)
{
	if (move_mount(tree, "", target, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_system(err, "mount %s", path);
	return 0;
}

int mounts_attach(int tree, const char *target, struct err *err)
{
	auto_fd int fd = mounts_open(target);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		if (fstat(tree, &st) < 0)
			return err_system(err, "look at %s", target);
		if ((S_ISDIR(st.st_mode)
			     ? mounts_make_dir(target, 0755, err)
			     : mounts_make_file(target, 0644, err)) < 0)
			return -1;
		fd = mounts_open(target);
	}
	if (fd < 0)
		return err_system(err, "open the mount point %s", target);
	return mounts_attach_fd(tree, fd, target, err);
}

int mounts_tmpfs(const char *target, mode_t mode, uint64_t size_max,
		 struct err *err)
{
	char options[64];

	if (mounts_make_dir(target, mode & 0777, err) < 0)
		return -1;
	if (size_max)
		snprintf(options, sizeof(options), "mode=%04o,size=%llu",
			 (unsigned)mode, (unsigned long long)size_max);
	else
		snprintf(options, sizeof(options), "mode=%04o", (unsigned)mode);
	if (mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return err_system(err, "mount a tmpfs on %s", target);
	return 0;
}

int mounts_proc(const char *target, struct err *err)
{
	/* Who may not be traced is not seen: init, whose command line is
	 * that of the caller's process. */
	if (mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "hidepid=invisible") == 0)
		return 0;
	if (errno != EPERM)
		return err_system(err, "mount proc");
	return err_set(
		err, ERR_UNSUPPORTED,
		"mount proc: this host (a container, perhaps) covers "
		"parts of its /proc, and then lets nobody mount another");
}

int mounts_devpts(const char *target, struct err *err)
{
	if (mounts_make_dir(target, 0755, err) < 0)
		return -1;
	if (mount("devpts", target, "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") < 0)
		return err_system(err, "mount devpts");
	return 0;
}

int mounts_seal(const char *path, struct err *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	if (mount_setattr(AT_FDCWD, path, 0, &attr, sizeof(attr)) < 0)
		return err_system(err, "make %s read-only", path);
	return 0;
}
