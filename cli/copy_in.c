#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/copy.h"
#include "common/cleanup.h"

struct copying {
	struct files *files;
	char path[REQUEST_PATH_MAX + 1]; /* inside */
	bool is_whole;
	struct err *err;
};

static int copy_one(struct copying *copying, int directory, const char *name,
		    unsigned depth);

static int copy_file(struct copying *copying, int directory, const char *name)
{
	auto_fd int fd = openat(directory, name,
				O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_system(copying->err, "open %s", name);
	return files_write(copying->files, copying->path, st.st_mode, fd,
			   copying->err);
}

static int copy_link(struct copying *copying, int directory, const char *name)
{
	char target[REQUEST_PATH_MAX + 1];
	ssize_t len = readlinkat(directory, name, target, sizeof(target) - 1);

	if (len < 0)
		return err_system(copying->err, "read link %s", name);
	target[len] = '\0';
	return files_link(copying->files, copying->path, target, copying->err);
}

/* The entry's path inside is that of its directory and its name. */
static int copy_entry(struct copying *copying, int directory, const char *name,
		      unsigned depth)
{
	size_t end = strlen(copying->path);
	int len = snprintf(copying->path + end, sizeof(copying->path) - end,
			   "/%s", name);
	int result;

	if (len < 0 || (size_t)len >= sizeof(copying->path) - end)
		return err_set(copying->err, ERR_TOO_LARGE,
			       "%s: the path is too long", name);
	result = copy_one(copying, directory, name, depth + 1);
	copying->path[end] = '\0';
	return result;
}

static int copy_directory(struct copying *copying, int directory,
			  const char *name, unsigned depth)
{
	int fd = openat(directory, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;
	int result = 0;

	if (!dir || fstat(fd, &st) < 0)
		result = err_system(copying->err, "open %s", name);
	else if (depth == COPY_DEPTH_MAX)
		result = err_set(copying->err, ERR_TOO_LARGE,
				 "%s: deeper than %d directories", name,
				 COPY_DEPTH_MAX);
	else
		result = files_mkdir(copying->files, copying->path, st.st_mode,
				     copying->err);
	while (result == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			result = copy_entry(copying, fd, entry->d_name, depth);
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
	return result;
}

static int copy_one(struct copying *copying, int directory, const char *name,
		    unsigned depth)
{
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_system(copying->err, "look at %s", name);
	if (S_ISREG(st.st_mode))
		return copy_file(copying, directory, name);
	if (S_ISDIR(st.st_mode))
		return copy_directory(copying, directory, name, depth);
	if (S_ISLNK(st.st_mode))
		return copy_link(copying, directory, name);
	copy_say(name, "neither a file nor a directory");
	copying->is_whole = false;
	return 0;
}

int copy_in(struct files *files, const char *from, const char *path,
	    bool *is_whole, struct err *err)
{
	struct copying copying = {.files = files, .is_whole = true, .err = err};
	char real[PATH_MAX];
	int result;

	/* A link that was named itself stands for what it leads to. */
	if (!realpath(from, real))
		return err_system(err, "find %s", from);
	if (snprintf(copying.path, sizeof(copying.path), "%s", path) >=
	    (int)sizeof(copying.path))
		return err_set(err, ERR_TOO_LARGE, "the path is too long");
	result = copy_one(&copying, AT_FDCWD, real, 0);
	*is_whole = copying.is_whole;
	return result;
}
