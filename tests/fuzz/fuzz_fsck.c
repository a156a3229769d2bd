/*
 * Commits, tags, names of a tree's entries and .gitmodules: the first byte
 * says which. What is sound is no name of git's own and no URL that runs
 * something.
 */
#include <assert.h>
#include <fcntl.h>
#include <git2.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/packcheck/fsck.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char scratch[] = "/tmp/sallyport-fuzz-XXXXXX";
static int home = -1;

static void leave(void)
{
	(void)rmdir(scratch);
}

/* A file is written there, and removed, for each .gitmodules. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	home = open(".", O_DIRECTORY | O_CLOEXEC);
	if (git_libgit2_init() < 0 || !mkdtemp(scratch) || home < 0)
		abort();
	return atexit(leave);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes all = bytes_from(data, size);
	struct bytes rest = bytes_slice(all, 1, size);

	if (size == 0)
		return 0;
	switch (data[0] & 3) {
	case 0:
		if (!fsck_commit(rest))
			assert(bytes_starts_with(rest, bytes_str("tree ")));
		break;
	case 1:
		if (!fsck_tag(rest))
			assert(bytes_starts_with(rest, bytes_str("object ")));
		break;
	case 2:
		if (!fsck_name(rest))
			assert(!bytes_is(rest, ".git"));
		(void)fsck_is_modules(rest);
		break;
	default:
		assert(chdir(scratch) == 0);
		(void)fsck_modules(rest);
		assert(access("modules", F_OK) < 0);
		assert(fchdir(home) == 0);
		break;
	}
	return 0;
}
