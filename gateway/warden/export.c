#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/warden/export.h"

static int check(const struct stat *status, const char *path, struct err *err)
{
	if (!S_ISREG(status->st_mode))
		return err_set(err, ERR_INVALID, "%s is no file", path);
	if (status->st_uid != geteuid() && status->st_uid != 0)
		return err_set(err, ERR_INVALID, "%s belongs to user %u", path,
			       status->st_uid);
	if (status->st_mode & S_IWOTH)
		return err_set(err, ERR_INVALID,
			       "others may write %s (mode %04o)", path,
			       (unsigned)(status->st_mode & 07777));
	return 0;
}

/* Can a file be made there? state is made at the start. */
static int check_directory(const char *path, const char *state, struct err *err)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int len = slash > path ? (int)(slash - path) : 1;

	(void)snprintf(dir, sizeof(dir), "%.*s", len, path);
	if (access(dir, W_OK | X_OK) == 0 ||
	    (errno == ENOENT && !strcmp(dir, state)))
		return 0;
	return err_system(err, "make %s", path);
}

int warden_export_check(struct bytes name, const char *state, struct err *err)
{
	char path[PATH_MAX];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%.*s", BYTES_ARGS(name));
	if (lstat(path, &status) < 0)
		return errno == ENOENT ? check_directory(path, state, err)
				       : err_system(err, "look at %s", path);
	if (check(&status, path, err) < 0)
		return -1;
	return access(path, R_OK | W_OK) < 0 ? err_system(err, "open %s", path)
					     : 0;
}

/* Opened without waiting: it may be a pipe that somebody put there. Made for
 * us alone; who shall read it besides is said by the mode of one that is
 * there already. */
static int open_file(struct bytes name, struct err *err)
{
	char path[PATH_MAX];
	struct stat status;
	auto_fd int fd = -1;

	(void)snprintf(path, sizeof(path), "%.*s", BYTES_ARGS(name));
	fd = open(path,
		  O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
			  O_NOCTTY | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return err_system(err, "open %s", path);
	if (fstat(fd, &status) < 0)
		return err_system(err, "look at %s", path);
	if (check(&status, path, err) < 0)
		return -1;
	return take_fd(&fd);
}

void warden_export_open(struct warden *warden, struct bytes path,
			struct rpc_ticket ticket)
{
	const struct gateway_config *config = &warden->config.gateway;
	const struct wire_empty empty = {0};
	auto_fd int fd = -1;
	struct err err;
	size_t i = 0;

	while (i < config->audit_exports_count &&
	       !bytes_equal(config->audit_exports[i].path, path))
		i++;
	if (i == config->audit_exports_count) {
		rpc_refuse(ticket, CONSTRAINT_internal, "no such export");
		return;
	}
	fd = open_file(path, &err);
	if (fd < 0)
		rpc_refuse(ticket, CONSTRAINT_audit_unavailable, "%s",
			   err.text);
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, fd);
}
