/*
 * A directory of a test's own below /tmp, and what is made in it.
 */
#ifndef TESTS_UNIT_SANDBOX_HOST_SCRATCH_H
#define TESTS_UNIT_SANDBOX_HOST_SCRATCH_H

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

static inline void scratch_make(void)
{
	snprintf(scratch, sizeof(scratch), "/tmp/sallyport-unit-XXXXXX");
	assert(mkdtemp(scratch));
}

/* The path of name in it; valid until the fourth call after. */
static inline const char *scratch_path(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", scratch, name);
	return path;
}

static inline void scratch_dir(const char *name)
{
	assert(mkdir(scratch_path(name), 0755) == 0);
}

static inline void scratch_file(const char *name)
{
	int fd = open(scratch_path(name), O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert(fd >= 0);
	(void)close(fd);
}

static inline void scratch_link(const char *name, const char *target)
{
	assert(symlink(target, scratch_path(name)) == 0);
}

static inline int scratch_remove_one(const char *path, const struct stat *st,
				     int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void scratch_remove(void)
{
	assert(nftw(scratch, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

#endif
