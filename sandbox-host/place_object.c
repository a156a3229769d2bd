#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/place.h"

#define STATUS_BYTES 4096
#define TITLE_BYTES  16
#define NS	     1000000000ull

pid_t place_number(pid_t pid, const char *title)
{
	char path[64], line[TITLE_BYTES], text[STATUS_BYTES];
	auto_fd int fd = -1;
	ssize_t len;
	char *at, *end;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	(void)snprintf(line, sizeof(line), "\n%s:", title);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	/* The name of the process stands on the first line, escaped. */
	at = strstr(text, line);
	end = at ? strchr(at + 1, '\n') : NULL;
	if (!end)
		return 0;
	*end = '\0';
	at = strrchr(at, '\t');
	return at ? (pid_t)strtol(at + 1, NULL, 10) : 0;
}

/* Is it known where the handle is? One that found no room may be cut. */
static bool is_known(const struct place *place)
{
	size_t len = strlen(place->handle);

	return len > 0 && len + 1 < sizeof(place->handle);
}

void place_of_descriptor(struct place *place, const struct place_view *view,
			 int fd)
{
	*place = (struct place){.exists = true, .is_handle = true};
	(void)snprintf(place->handle, sizeof(place->handle), "/proc/%d/fd/%d",
		       (int)view->pid, fd);
}

/* What the object of a handle is called. */
static int name_handle(struct place *place)
{
	char path[PATH_MAX];
	ssize_t len = readlink(place->handle, path, sizeof(path) - 1);

	if (len < 0)
		return -errno;
	path[len] = '\0';
	memcpy(place->path, path, (size_t)len + 1);
	return 0;
}

static int open_object(const struct place_view *view, const struct place *place)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};

	if (!place->is_handle)
		return (int)syscall(SYS_openat2, view->root, place->path, &how,
				    sizeof(how));
	if (!is_known(place)) {
		errno = EACCES;
		return -1;
	}
	return open(place->handle, O_PATH | O_CLOEXEC);
}

int place_look(struct place_object *object, const struct place_view *view,
	       struct place *place)
{
	auto_fd int fd = open_object(view, place);
	struct statvfs mount;
	struct statx st;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -EACCES;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO | STATX_MNT_ID | STATX_BTIME,
		  &st) < 0 ||
	    fstatvfs(fd, &mount) < 0)
		return -errno;
	*object = (struct place_object){
		.inode = st.stx_ino,
		.device = makedev(st.stx_dev_major, st.stx_dev_minor),
		.mount = st.stx_mnt_id,
		.born = st.stx_mask & STATX_BTIME
				? (uint64_t)st.stx_btime.tv_sec * NS +
					  st.stx_btime.tv_nsec
				: 0,
		.mode = st.stx_mode,
		.is_read_only = mount.f_flag & ST_RDONLY,
	};
	return place->is_handle ? name_handle(place) : 0;
}
