#include "sandbox-host/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NAME_BYTES 32

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Never through a link: whoever made the tree may still be at it. */
static void make_writable(int parent, const char *name)
{
	char path[64];
	auto_fd int fd = openat(parent, name,
				O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)!chmod(path, 0700);
}

/* A directory below another is moved up to the top first: however deep the
 * tree is, two are open at one time. */
static int lift(int top, int from, const char *name, unsigned *serial)
{
	char place[NAME_BYTES];
	int result;

	/* A directory can be moved only by who may write in it. */
	make_writable(from, name);
	do {
		(void)snprintf(place, sizeof(place), ".%u.removed",
			       (*serial)++);
		result = renameat2(from, name, top, place, RENAME_NOREPLACE);
	} while (result < 0 && errno == EEXIST);
	return result;
}

/* Empty one directory that stands in top; its directories go to top. */
static int empty(int top, const char *name, unsigned *serial)
{
	int fd;
	DIR *dir;
	struct dirent *entry;
	int result = 0;

	make_writable(top, name);
	fd = openat(top, name, OPEN_FLAGS);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	while (result == 0 && (entry = readdir(dir))) {
		if (is_dots(entry->d_name) ||
		    unlinkat(fd, entry->d_name, 0) == 0)
			continue;
		result = errno == EISDIR || errno == EPERM
				 ? lift(top, fd, entry->d_name, serial)
				 : -1;
	}
	(void)closedir(dir);
	return result;
}

/* One round over what stands in top; true when it is empty. */
static bool sweep(int top, unsigned *serial, bool *failed)
{
	DIR *dir = fdopendir(openat(top, ".", OPEN_FLAGS));
	struct dirent *entry;
	bool is_empty = true;

	*failed = !dir;
	while (dir && !*failed && (entry = readdir(dir))) {
		if (is_dots(entry->d_name) ||
		    unlinkat(top, entry->d_name, 0) == 0)
			continue;
		is_empty = false;
		*failed = empty(top, entry->d_name, serial) < 0 ||
			  unlinkat(top, entry->d_name, AT_REMOVEDIR) < 0;
	}
	if (dir)
		(void)closedir(dir);
	return is_empty;
}

int tree_remove(int directory, const char *path)
{
	auto_fd int top = openat(directory, path, OPEN_FLAGS);
	unsigned serial = 0;
	bool failed = top < 0;

	if (top < 0 && errno == ENOENT)
		return 0;
	while (!failed && !sweep(top, &serial, &failed))
		;
	if (!failed && unlinkat(directory, path, AT_REMOVEDIR) == 0)
		return 0;
	log_warn("remove %s: %s", path, strerror(errno));
	return -1;
}

int tree_open(int directory, const char *name)
{
	auto_fd int fd = openat(directory, name, OPEN_FLAGS);
	auto_fd int place = -1;
	struct stat st;
	char path[NAME_BYTES];

	if (fd >= 0 || errno != EACCES)
		return take_fd(&fd);
	place = openat(directory, name,
		       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	if (place < 0 || fstat(place, &st) < 0 ||
	    fchmodat(AT_FDCWD, path, (st.st_mode & 07777) | 0500, 0) < 0)
		return -1;
	fd = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fchmodat(AT_FDCWD, path, st.st_mode & 07777, 0) < 0)
		return -1;
	return take_fd(&fd);
}
