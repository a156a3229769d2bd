#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

static int remove_below(int directory, const char *name, unsigned level);

static int remove_one(int directory, const char *name, unsigned level)
{
	if (unlinkat(directory, name, 0) == 0)
		return 0;
	return errno == EISDIR ? remove_below(directory, name, level) : -1;
}

static int remove_below(int directory, const char *name, unsigned level)
{
	int fd = openat(directory, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	if (level == LEVELS_MAX) {
		errno = EMFILE;
		result = -1;
	}
	while (result == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			result = remove_one(fd, entry->d_name, level + 1);
	if (result < 0) {
		int number = errno;

		(void)closedir(dir);
		errno = number;
		return -1;
	}
	(void)closedir(dir);
	return unlinkat(directory, name, AT_REMOVEDIR);
}

int path_remove_tree(const char *path)
{
	return remove_below(AT_FDCWD, path, 0);
}
