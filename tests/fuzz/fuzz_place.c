/*
 * A path of a system call, as the reporter follows it from outside: it ends
 * with an error or below the root it was followed in, never elsewhere.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-host/place.h"

static char scratch[64];
static int root = -1;

/* Links that lead out, around and nowhere. */
static void make_tree(void)
{
	static const char *const links[][2] = {
		{"/etc", "out"},	  {"../../../..", "up"},
		{"loop", "loop"},	  {"/d", "abs"},
		{"/proc/self/cwd", "me"}, {"/proc/self/fd/0", "in"},
		{"d/none", "none"},	  {"/dev/fd/1", "fd"},
	};
	int old = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	snprintf(scratch, sizeof(scratch), "/tmp/sallyport-fuzz-XXXXXX");
	assert(mkdtemp(scratch) && chdir(scratch) == 0);
	assert(mkdir("d", 0755) == 0);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		assert(symlink(links[i][0], links[i][1]) == 0);
	root = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert(root >= 0 && fchdir(old) == 0);
	(void)close(old);
}

static void remove_tree(void)
{
	static const char *const names[] = {"out", "up",   "loop", "abs", "me",
					    "in",  "none", "fd",   "d"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(root, names[i],
			       strcmp(names[i], "d") ? 0 : AT_REMOVEDIR);
	(void)rmdir(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct place_view view;
	struct place place;
	char path[PATH_MAX];
	bool follow = size && (data[0] & 1);
	int rc;

	if (root < 0) {
		make_tree();
		(void)atexit(remove_tree);
	}
	if (size < 2 || size >= sizeof(path))
		return 0;
	memcpy(path, data + 1, size - 1);
	path[size - 1] = '\0';
	if (!path[0])
		return 0;
	place_begin(&view, root, getpid());
	rc = place_find(&place, &view, AT_FDCWD, path, follow);
	assert(rc <= 0);
	/* A path without links and dots is told as it was asked for; the
	 * root here is a directory, so others tell where that is. */
	if (rc == 0 && !place.is_handle &&
	    strncmp(place.path, "/proc/", 6) != 0)
		assert(!strcmp(place.path, path) ||
		       !strncmp(place.path, scratch, strlen(scratch)));
	return 0;
}
