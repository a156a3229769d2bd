#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/warden/warden.h"

/* Ours and theirs are in one directory. */
static int open_directory(struct err *err)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int fd;

	if (len < 0)
		return err_system(err, "read /proc/self/exe");
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_system(err, "open %s", path) : fd;
}

int executables_open(struct warden *warden, struct err *err)
{
	auto_fd int directory = open_directory(err);

	if (directory < 0)
		return -1;
	for (int role = 0; role < ROLE_MAX; role++) {
		const char *file = role_executable((enum role)role);

		warden->executables[role] = -1;
		if (role == ROLE_WARDEN)
			continue;
		warden->executables[role] =
			openat(directory, file, O_PATH | O_CLOEXEC);
		if (warden->executables[role] < 0)
			return err_system(err, "open the program %s", file);
	}
	return 0;
}
