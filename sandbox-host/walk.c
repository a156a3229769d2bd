#include "sandbox-host/walk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static bool is_directory(int dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* Open a directory below parent. NULL: errno. */
static DIR *open_dir(int parent, const char *name)
{
	auto_fd int fd = openat(parent, name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					O_CLOEXEC | O_NONBLOCK);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)take_fd(&fd);
	return dir;
}

static int walk_dir(struct walk *walk, int parent, char *path, unsigned depth,
		    struct err *err);

/* path holds the directory's; the entry's name is put behind it. */
static int visit(struct walk *walk, DIR *dir, const struct dirent *entry,
		 char *path, struct err *err)
{
	size_t len = strlen(path);
	size_t room = PATH_MAX - len;
	struct walk_entry seen = {
		.path = path,
		.name = path + len + 1,
		.is_directory = is_directory(dirfd(dir), entry),
	};
	int added = snprintf(path + len, room, "/%s", entry->d_name);
	enum walk_answer answer = WALK_SKIP;

	if (added > 0 && (size_t)added < room)
		answer = walk->on_entry(walk->owner, &seen, err);
	else
		walk->is_cut = true;
	if (answer != WALK_INTO || !seen.is_directory)
		path[len] = '\0';
	return (int)answer;
}

/* Nothing is to be seen there, inside either: it was removed, is closed to
 * us, or /proc showed it of a process that ended (proc(5)). */
static bool is_nothing(int error)
{
	return error == ENOENT || error == EACCES || error == ESRCH ||
	       error == EINVAL || error == ENOTDIR || error == ELOOP;
}

/* NULL, with errno 0, at the end (readdir(3)). */
static struct dirent *next_entry(DIR *dir)
{
	errno = 0;
	return readdir(dir);
}

static int walk_entries(struct walk *walk, DIR *dir, char *path, unsigned depth,
			struct err *err)
{
	size_t len = strlen(path);
	struct dirent *entry;

	while ((entry = next_entry(dir))) {
		int answer;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (walk->entries_max == 0) {
			walk->is_cut = true;
			return 0;
		}
		walk->entries_max--;
		answer = visit(walk, dir, entry, path, err);
		if (answer == WALK_FAIL)
			return -1;
		if (path[len] == '\0')
			continue;
		if (walk_dir(walk, dirfd(dir), path, depth + 1, err) < 0)
			return -1;
		path[len] = '\0';
	}
	/* What could not be read to its end may hold what is looked for. */
	return errno && !is_nothing(errno)
		       ? err_system(err, "look through %s", path)
		       : 0;
}

/* It may be read, but nothing in it be looked at. */
static bool is_unsearchable(DIR *dir)
{
	struct stat st;

	return fstatat(dirfd(dir), ".", &st, 0) < 0 && errno == EACCES;
}

static int pass_by(struct walk *walk, const char *path, struct err *err)
{
	return walk->on_closed ? walk->on_closed(walk->owner, path, err) : 0;
}

static int walk_dir(struct walk *walk, int parent, char *path, unsigned depth,
		    struct err *err)
{
	__attribute__((cleanup(cleanup_dir))) DIR *dir = NULL;

	if (depth > walk->depth_max || depth > WALK_DEPTH_MAX) {
		walk->is_cut = true;
		return 0;
	}
	dir = open_dir(parent, depth ? strrchr(path, '/') + 1 : path);
	if (dir ? is_unsearchable(dir) : errno == EACCES)
		return pass_by(walk, path, err);
	if (!dir && is_nothing(errno)) {
		if (depth > 0 && walk->on_gone)
			walk->on_gone(walk->owner, path);
		return 0;
	}
	if (!dir)
		return err_system(err, "look through %s", path);
	return walk_entries(walk, dir, path, depth, err);
}

int walk_tree(struct walk *walk, const char *base, struct err *err)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s", base);

	assert(walk->on_entry);
	if (len < 0 || (size_t)len >= sizeof(path))
		return err_set(err, ERR_TOO_LARGE, "look through: long path");
	walk->is_cut = false;
	return walk_dir(walk, AT_FDCWD, path, 0, err);
}
