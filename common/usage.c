#include "common/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#define DIR_FLAGS   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define BLOCK_BYTES 512 /* of st_blocks: stat(3type) */

struct walk {
	struct usage *usage;
	dev_t device;
	struct err *err;
};

static int add_tree(struct walk *walk, int directory, unsigned depth);

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* One that is no directory any more, or gone, is nobody's loss. */
static int enter(struct walk *walk, int parent, const char *name,
		 unsigned depth)
{
	int fd;

	if (depth >= USAGE_DEPTH_MAX)
		return err_set(walk->err, ERR_TOO_LARGE,
			       "more than %d directories within each other",
			       USAGE_DEPTH_MAX);
	fd = openat(parent, name, DIR_FLAGS);
	if (fd >= 0)
		return add_tree(walk, fd, depth + 1);
	if (errno == EACCES)
		walk->usage->closed++;
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM
		       ? err_system(walk->err, "open a directory")
		       : 0;
}

static int add_one(struct walk *walk, int parent, const char *name,
		   unsigned depth)
{
	struct stat info;
	uint64_t bytes;

	if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
	    info.st_dev != walk->device)
		return 0;
	walk->usage->entries++;
	bytes = (uint64_t)info.st_blocks * BLOCK_BYTES;
	if (S_ISDIR(info.st_mode)) {
		walk->usage->bytes += bytes;
		return enter(walk, parent, name, depth);
	}
	walk->usage->bytes += info.st_nlink > 1 ? bytes / info.st_nlink : bytes;
	return 0;
}

/* Takes the descriptor. */
static int add_tree(struct walk *walk, int directory, unsigned depth)
{
	DIR *dir = fdopendir(directory);
	const struct dirent *entry;
	int result = 0;

	if (!dir) {
		(void)err_system(walk->err, "read a directory");
		(void)close(directory);
		return -1;
	}
	while (result == 0 && (entry = readdir(dir)))
		if (!is_dots(entry->d_name))
			result = add_one(walk, directory, entry->d_name, depth);
	(void)closedir(dir);
	return result;
}

int usage_add(int directory, struct usage *usage, struct err *err)
{
	struct walk walk = {.usage = usage, .err = err};
	/* With an offset of its own: it is read from its beginning. */
	int fd = openat(directory, ".", DIR_FLAGS);
	struct stat info;

	if (fd < 0)
		return err_system(err, "open the tree");
	if (fstat(fd, &info) < 0) {
		(void)err_system(err, "look at the tree");
		(void)close(fd);
		return -1;
	}
	walk.device = info.st_dev;
	return add_tree(&walk, fd, 0);
}
