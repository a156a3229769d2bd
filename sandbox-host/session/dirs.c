#include "sandbox-host/session/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

static int format_dir(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int format_dir(char *out, size_t size, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(out, size, format, args);
	va_end(args);
	return len < 0 || (size_t)len >= size ? -1 : 0;
}

int session_run_dir(char *out, size_t size)
{
	const char *given = getenv("SALLYPORT_RUN");
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (given && given[0])
		return format_dir(out, size, "%s", given);
	/* An ordinary user may use the host's gateway as well. */
	if (getuid() == 0 || access("/run/sallyport/control.sock", F_OK) == 0)
		return format_dir(out, size, "/run/sallyport");
	if (runtime)
		return format_dir(out, size, "%s/sallyport", runtime);
	return format_dir(out, size, "/tmp/sallyport-%u", getuid());
}

int session_own_run_dir(size_t n, char *out, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (getuid() == 0)
		return n == 0 ? format_dir(out, size, "/run/sallyport") : -1;
	if (runtime && n == 0)
		return format_dir(out, size, "%s/sallyport", runtime);
	return n == (runtime ? 1 : 0)
		       ? format_dir(out, size, "/tmp/sallyport-%u", getuid())
		       : -1;
}

int session_state_dir(char *out, size_t size)
{
	const char *given = getenv("SALLYPORT_STATE");
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (given && given[0])
		return format_dir(out, size, "%s", given);
	if (getuid() == 0)
		return format_dir(out, size, "/var/lib/sallyport");
	if (state)
		return format_dir(out, size, "%s/sallyport", state);
	return format_dir(out, size, "%s/.local/state/sallyport",
			  home ? home : "");
}

bool session_is_held(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	auto_fd int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 &&
	       lock.l_type != F_UNLCK;
}

bool session_just_taken(void)
{
	const char *given = getenv("SALLYPORT_RUN");
	uint64_t now_ms = clock_wall_ms();
	char path[PATH_MAX];
	struct stat st;

	return format_dir(path, sizeof(path), "%s/lock",
			  given && given[0] ? given : "/run/sallyport") == 0 &&
	       access(path, R_OK) < 0 && errno == EACCES &&
	       stat(path, &st) == 0 &&
	       now_ms - (uint64_t)st.st_mtim.tv_sec * 1000 <
		       SESSION_START_MAX_MS;
}

int session_check_peer(int fd, const char *path, struct err *err)
{
	struct ucred who = {0};
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return err_system(err, "ask who listens at %s", path);
	if (who.uid == 0 || who.uid == geteuid())
		return 0;
	return err_set(err, ERR_DENIED,
		       "user %u listens at %s: neither root nor you", who.uid,
		       path);
}
