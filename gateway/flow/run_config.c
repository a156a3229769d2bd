#include "gateway/flow/run_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"

#define NEXT_NAME RUN_CONFIG_NAME ".next"

/* ---- leave ---- */

static int write_path(int fd, const char *file, struct err *err)
{
	char path[PATH_MAX] = "";
	size_t len = 0;
	int rest;

	if (file[0] != '/') {
		if (!getcwd(path, sizeof(path)))
			return err_system(err, "tell where we are");
		len = strlen(path);
	}
	rest = snprintf(path + len, sizeof(path) - len, "%s%s",
			file[0] == '/' ? "" : "/", file);
	if (rest < 0 || (size_t)rest >= sizeof(path) - len)
		return err_set(err, ERR_TOO_LARGE, "%s: the path is too long",
			       file);
	len += (size_t)rest;
	if (write(fd, path, len) != (ssize_t)len)
		return err_system(err, "write " NEXT_NAME);
	return 0;
}

int run_config_leave(const char *run, const char *file, struct err *err)
{
	auto_fd int dir = open(run, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_fd int fd = -1;

	if (dir < 0)
		return err_system(err, "open %s", run);
	if (!file)
		return unlinkat(dir, RUN_CONFIG_NAME, 0) < 0 && errno != ENOENT
			       ? err_system(err, "remove %s/" RUN_CONFIG_NAME,
					    run)
			       : 0;
	fd = openat(dir, NEXT_NAME,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return err_system(err, "open %s/" NEXT_NAME, run);
	if (write_path(fd, file, err) < 0)
		return -1;
	if (renameat(dir, NEXT_NAME, dir, RUN_CONFIG_NAME) < 0)
		return err_system(err, "rename %s/" NEXT_NAME, run);
	return 0;
}

/* ---- find ---- */

static int refuse(const char *run, const char *what, struct err *err)
{
	return err_set(
		err, ERR_INVALID,
		"no gateway runs, and none is started in place of the "
		"one that ran: its configuration %s: start "
		"sallyport-gateway with it, or remove %s/" RUN_CONFIG_NAME
		" to have one with the default",
		what, run);
}

/* Nobody else may have put it there, where the directory was once open. */
static bool is_ours(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
	       (info.st_uid == geteuid() || info.st_uid == 0) &&
	       !(info.st_mode & (S_IWGRP | S_IWOTH));
}

int run_config_read(const char *run, char file[PATH_MAX], struct err *err)
{
	char name[PATH_MAX];
	auto_type(buf_release) struct buf path;
	auto_fd int fd = -1;

	file[0] = '\0';
	buf_init(&path, PATH_MAX - 1);
	(void)snprintf(name, sizeof(name), "%s/" RUN_CONFIG_NAME, run);
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || !is_ours(fd) || file_read(fd, &path, err) < 0 ||
	    buf_str(&path)[0] != '/' ||
	    strlen(buf_str(&path)) != buf_len(&path))
		return refuse(run, "can not be told", err);
	(void)snprintf(file, PATH_MAX, "%s", buf_str(&path));
	return 0;
}

int run_config_find(const char *run, char file[PATH_MAX], struct err *err)
{
	char what[ERR_TEXT_MAX];

	if (run_config_read(run, file, err) < 0)
		return -1;
	if (!file[0] || access(file, R_OK) == 0)
		return 0;
	(void)snprintf(what, sizeof(what), "%s can not be read (%s)", file,
		       strerror(errno));
	file[0] = '\0';
	return refuse(run, what, err);
}
