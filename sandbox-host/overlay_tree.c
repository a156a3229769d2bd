/* Names and trees, by descriptor: nothing in them is followed. */
#include "sandbox-host/overlay_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#define NAMES_FIRST 64

int overlay_open_dir(int dir, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve =
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* A stream of its own: dir's position is not touched. */
static DIR *open_stream(int dir)
{
	auto_fd int fd = overlay_open_dir(dir, ".");
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	if (stream)
		(void)take_fd(&fd);
	return stream;
}

/* NULL with errno 0: there is no other. */
static struct dirent *next_of(DIR *stream)
{
	errno = 0;
	return readdir(stream);
}

static int add_name(struct overlay_names *names, const char *name)
{
	size_t size = names->size ? names->size * 2 : NAMES_FIRST;
	char **items;

	if (names->count == names->size) {
		items = reallocarray(names->items, size, sizeof(*items));
		if (!items)
			return -1;
		names->items = items;
		names->size = size;
	}
	names->items[names->count] = strdup(name);
	return names->items[names->count++] ? 0 : -1;
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

int overlay_names_read(int dir, size_t *budget, struct overlay_names *names,
		       struct err *err)
{
	__attribute__((cleanup(cleanup_dir))) DIR *stream = open_stream(dir);
	struct dirent *entry;

	*names = (struct overlay_names){0};
	if (!stream)
		return err_system(err, "overlay: read a directory");
	while ((entry = next_of(stream))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (*budget == 0 || add_name(names, entry->d_name) < 0) {
			overlay_names_release(names);
			return err_set(err, ERR_TOO_LARGE,
				       "overlay: more than %d names",
				       OVERLAY_ENTRIES_MAX);
		}
		--*budget;
	}
	if (errno) {
		overlay_names_release(names);
		return err_system(err, "overlay: read a directory");
	}
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items),
		      compare);
	return 0;
}

bool overlay_names_has(const struct overlay_names *names, const char *name)
{
	return names->count && bsearch(&name, names->items, names->count,
				       sizeof(*names->items), compare);
}

void overlay_names_release(struct overlay_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct overlay_names){0};
}

/* Open a directory that is to be removed; its mode no longer matters. */
static int open_closed(int dir, const char *name)
{
	int fd = overlay_open_dir(dir, name);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0300) != 0300)
		(void)!fchmod(fd, 0700);
	if (fd >= 0 || errno != EACCES)
		return fd;
	if (fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno != EOPNOTSUPP)
		return -1;
	return overlay_open_dir(dir, name);
}

static int remove_below(int dir, const char *name, unsigned depth,
			struct err *err);

static int empty(int fd, unsigned depth, struct err *err)
{
	size_t budget = OVERLAY_ENTRIES_MAX;
	struct overlay_names names;
	int rc = overlay_names_read(fd, &budget, &names, err);

	for (size_t i = 0; rc == 0 && i < names.count; i++)
		rc = remove_below(fd, names.items[i], depth + 1, err);
	overlay_names_release(&names);
	return rc;
}

static int remove_below(int dir, const char *name, unsigned depth,
			struct err *err)
{
	auto_fd int fd = -1;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT ||
	    (errno == EISDIR && unlinkat(dir, name, AT_REMOVEDIR) == 0))
		return 0;
	if (errno != EISDIR && errno != ENOTEMPTY && errno != EACCES &&
	    errno != EPERM)
		return err_system(err, "overlay: remove %s", name);
	if (depth == OVERLAY_DEPTH_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "overlay: directories too deep in each other");
	fd = open_closed(dir, name);
	if (fd < 0 || empty(fd, depth, err) < 0 ||
	    unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return err_system(err, "overlay: remove %s", name);
	return 0;
}

int overlay_remove(int dir, const char *name, struct err *err)
{
	return remove_below(dir, name, 0, err);
}

/* ---- of ours ---- */

/* Where what is to be removed waits for its turn, so that no depth counts. */
static void waiting_name(char out[NAME_MAX + 1], unsigned long number)
{
	snprintf(out, NAME_MAX + 1, "removed.%lu", number);
}

/* Take one entry of fd away: at once, or into dir under a name of ours. */
static int take_away(int dir, int fd, const char *name, unsigned long *last,
		     struct err *err)
{
	char waiting[NAME_MAX + 1];

	if (unlinkat(fd, name, 0) == 0 || unlinkat(fd, name, AT_REMOVEDIR) == 0)
		return 0;
	/* To move a directory its owner must be able to write in it. */
	(void)!fchmodat(fd, name, 0700, 0);
	waiting_name(waiting, ++*last);
	if (renameat(fd, name, dir, waiting) < 0)
		return err_system(err, "overlay: remove %s", name);
	return 0;
}

static int clear_one(int dir, const char *name, unsigned long *last,
		     struct err *err)
{
	auto_fd int fd = -1;
	__attribute__((cleanup(cleanup_dir))) DIR *stream = NULL;
	struct dirent *entry;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	fd = open_closed(dir, name);
	stream = fd < 0 ? NULL : open_stream(fd);
	if (!stream)
		return err_system(err, "overlay: remove %s", name);
	while ((entry = next_of(stream)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    take_away(dir, fd, entry->d_name, last, err) < 0)
			return -1;
	if (errno || unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return err_system(err, "overlay: remove %s", name);
	return 0;
}

int overlay_clear(int dir, const char *name, struct err *err)
{
	char waiting[NAME_MAX + 1];
	unsigned long last = 0;

	if (clear_one(dir, name, &last, err) < 0)
		return -1;
	for (unsigned long i = 1; i <= last; i++) {
		waiting_name(waiting, i);
		if (clear_one(dir, waiting, &last, err) < 0)
			return -1;
	}
	return 0;
}
