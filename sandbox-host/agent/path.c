#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"

#define LINKS_MAX  40  /* as the kernel's (path_resolution(7)) */
#define LEVELS_MAX 256 /* directories that are open at one time */

int path_copy(struct bytes path, char out[PATH_MAX])
{
	while (path.len > 1 && path.data[path.len - 1] == '/')
		path.len--;
	if (path.len == 0 || memchr(path.data, 0, path.len)) {
		errno = EINVAL;
		return -1;
	}
	if (path.len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out, path.data, path.len);
	out[path.len] = '\0';
	return 0;
}

void path_parent(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	while (len > 0 && path[len - 1] == '/')
		len--;
	if (slash && len == 0)
		(void)snprintf(out, PATH_MAX, "/");
	else if (!slash)
		(void)snprintf(out, PATH_MAX, ".");
	else
		(void)snprintf(out, PATH_MAX, "%.*s", (int)len, path);
}

/* What a link says, from where it stands. */
static int follow_once(const char *path, char out[PATH_MAX])
{
	char text[PATH_MAX], parent[PATH_MAX];
	ssize_t len = readlink(path, text, sizeof(text) - 1);

	if (len < 0)
		return -1;
	text[len] = '\0';
	path_parent(path, parent);
	if (text[0] == '/')
		(void)snprintf(out, PATH_MAX, "%s", text);
	else if (snprintf(out, PATH_MAX, "%s/%s", parent, text) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

int path_follow(const char *path, char out[PATH_MAX])
{
	char next[PATH_MAX];
	struct stat st;

	if (path_copy(bytes_str(path), out) < 0)
		return -1;
	for (int i = 0; i < LINKS_MAX; i++) {
		if (lstat(out, &st) < 0)
			return errno == ENOENT ? 0 : -1;
		if (!S_ISLNK(st.st_mode))
			return 0;
		if (follow_once(out, next) < 0 ||
		    path_copy(bytes_str(next), out) < 0)
			return -1;
	}
	errno = ELOOP;
	return -1;
}

static int make_one(const char *path)
{
	struct stat st;
	int number;

	if (mkdir(path, 0777) == 0)
		return 0;
	number = errno;
	/* A read-only file system says so even of what is there. */
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	errno = number == EEXIST ? ENOTDIR : number;
	return -1;
}

int path_make(const char *path)
{
	char upto[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (path_copy(bytes_str(path), upto) < 0)
		return -1;
	for (char *at = upto + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (make_one(upto) < 0)
			return -1;
		*at = '/';
	}
	return make_one(upto);
}

int path_make_parents(const char *path)
{
	char parent[PATH_MAX];

	path_parent(path, parent);
	return path_make(parent);
}

/* A tree that goes. */
struct removal {
	const struct agent *agent;
	char path[PATH_MAX]; /* the real one, of what is looked at */
};

static int remove_below(struct removal *removal, int directory,
			const char *name, unsigned level);

static int remove_one(struct removal *removal, int directory, const char *name,
		      unsigned level)
{
	if (!agent_may_remove(removal->agent, removal->path)) {
		errno = EACCES;
		return -1;
	}
	if (unlinkat(directory, name, 0) == 0)
		return 0;
	return errno == EISDIR ? remove_below(removal, directory, name, level)
			       : -1;
}

/* One of a directory's; where it can not be removed its path stays. */
static int remove_entry(struct removal *removal, int directory,
			const char *name, unsigned level)
{
	size_t len = strlen(removal->path);
	int put = snprintf(removal->path + len, PATH_MAX - len, "/%s", name);

	if (put < 0 || (size_t)put >= PATH_MAX - len) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (remove_one(removal, directory, name, level) < 0)
		return -1;
	removal->path[len] = '\0';
	return 0;
}

static int remove_all(struct removal *removal, DIR *dir, unsigned level)
{
	const struct dirent *entry;
	int result = 0;

	if (level == LEVELS_MAX) {
		errno = EMFILE;
		return -1;
	}
	while (result == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			result = remove_entry(removal, dirfd(dir),
					      entry->d_name, level + 1);
	return result;
}

static int remove_below(struct removal *removal, int directory,
			const char *name, unsigned level)
{
	int fd = openat(directory, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int result, number;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	result = remove_all(removal, dir, level);
	number = errno;
	(void)closedir(dir);
	errno = number;
	return result < 0 ? -1 : unlinkat(directory, name, AT_REMOVEDIR);
}

int path_remove_tree(const struct agent *agent, char path[PATH_MAX])
{
	struct removal removal = {.agent = agent};
	int number;

	if (!realpath(path, removal.path))
		return -1;
	if (remove_below(&removal, AT_FDCWD, path, 0) == 0)
		return 0;
	number = errno;
	(void)snprintf(path, PATH_MAX, "%s", removal.path);
	errno = number;
	return -1;
}
