#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/warden/source.h"

/* systemd gives a credential to its user by an ACL, which shows as a mode
 * that the group may read. */
#define FILE_FORBIDDEN	     (S_IRWXG | S_IRWXO)
#define CREDENTIAL_FORBIDDEN (S_IWGRP | S_IXGRP | S_IRWXO)

/* Where its value stands. 0, or -1. */
static int path_of(const struct config_source *source, char path[PATH_MAX],
		   struct err *err)
{
	const char *directory = "";
	int len;

	if (source->kind == SOURCE_CREDENTIAL) {
		directory = getenv("CREDENTIALS_DIRECTORY");
		if (!directory)
			return err_set(err, ERR_MISSING,
				       "the gateway has no systemd "
				       "credentials");
	}
	len = snprintf(path, PATH_MAX, "%s%s%.*s", directory,
		       source->kind == SOURCE_CREDENTIAL ? "/" : "",
		       BYTES_ARGS(source->path));
	return len > 0 && len < PATH_MAX
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "its path is too long");
}

static int check(int fd, const char *path, mode_t forbidden, struct err *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_system(err, "look at %s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INVALID, "%s is no file", path);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return err_set(err, ERR_INVALID, "%s belongs to user %u", path,
			       status.st_uid);
	if (status.st_mode & forbidden)
		return err_set(err, ERR_INVALID,
			       "others may use %s (mode %04o): it must be 0600",
			       path, (unsigned)(status.st_mode & 07777));
	if (status.st_size > SECRET_VALUE_MAX)
		return err_set(err, ERR_TOO_LARGE, "%s is larger than %d bytes",
			       path, SECRET_VALUE_MAX);
	return 0;
}

/* Opened without waiting: it may be a pipe that somebody put there. */
static int open_file(const struct config_source *source, struct err *err)
{
	mode_t forbidden = source->kind == SOURCE_FILE ? FILE_FORBIDDEN
						       : CREDENTIAL_FORBIDDEN;
	char path[PATH_MAX];
	auto_fd int fd = -1;

	if (path_of(source, path, err) < 0)
		return -1;
	fd = open(path,
		  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return err_system(err, "open %s", path);
	if (check(fd, path, forbidden, err) < 0)
		return -1;
	return take_fd(&fd);
}

int warden_source_check(const struct config_source *source, struct err *err)
{
	auto_fd int fd = -1;

	if (source->kind == SOURCE_EXEC)
		return warden_program_check(
			(const char *)source->words[0].text.data, err);
	/* A unit's credentials are there only while it runs. */
	if (source_is_bought(source) || (source->kind == SOURCE_CREDENTIAL &&
					 !getenv("CREDENTIALS_DIRECTORY")))
		return 0;
	fd = open_file(source, err);
	return fd < 0 ? -1 : 0;
}

void warden_source_open(struct warden *warden, struct bytes name,
			struct rpc_ticket ticket)
{
	const struct config_source *source =
		gateway_config_source(&warden->config.gateway, name);
	const struct wire_empty empty = {0};
	auto_fd int fd = -1;
	struct err err;

	if (!source || source_is_bought(source)) {
		rpc_refuse(ticket, CONSTRAINT_internal, "no such source");
		return;
	}
	if (source->kind == SOURCE_EXEC) {
		warden_program_start(warden, source, ticket);
		return;
	}
	fd = open_file(source, &err);
	if (fd < 0)
		rpc_refuse(ticket, CONSTRAINT_credential_unavailable, "%s",
			   err.text);
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, fd);
}
