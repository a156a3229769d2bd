/* The certificate of the HTTP API: read here, shown by its process. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/secret.h"
#include "sandbox-host/daemon/daemon.h"

#define OTHERS 07 /* a group may read it: Debian's ssl-cert */

/* A key that others read, or may exchange, is nobody's. */
static int check_file(int fd, const char *path, bool is_key, struct err *err)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return err_system(err, "look at %s", path);
	if (!S_ISREG(info.st_mode))
		return err_set(err, ERR_INVALID, "%s must be a file", path);
	if (is_key && ((info.st_uid != 0 && info.st_uid != geteuid()) ||
		       (info.st_mode & (OTHERS | S_IWGRP))))
		return err_set(err, ERR_INVALID,
			       "%s must be a file of ours that others can not "
			       "read",
			       path);
	return 0;
}

/* Whatever is there by now: a pipe would wait for somebody. */
static int read_pem(const char *path, bool is_key, struct buf *pem,
		    struct err *err)
{
	auto_fd int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return err_system(err, "open %s", path);
	if (check_file(fd, path, is_key, err) < 0 ||
	    file_read(fd, pem, err) < 0)
		return -1;
	return buf_add_byte(pem, '\n') < 0
		       ? err_set(err, ERR_TOO_LARGE, "%s is too large", path)
		       : 0;
}

/* A sealed memfd of both. -1. */
static int seal(const struct host_api *said, struct err *err)
{
	auto_type(buf_release) struct buf pem;
	int fd = -1;

	buf_init(&pem, API_PEM_MAX);
	/* At once: a buffer that grows leaves copies. */
	if (!buf_reserve(&pem, API_PEM_MAX))
		return err_set(err, ERR_TOO_LARGE, "no memory");
	if (read_pem(said->certificate, false, &pem, err) == 0 &&
	    read_pem(said->key, true, &pem, err) == 0)
		fd = wire_memfd_seal("certificate", buf_view(&pem), err);
	if (pem.data)
		secret_wipe(pem.data, pem.size);
	return fd;
}

int serve_tls_check(const struct host_api *said, struct err *err)
{
	int fd = said->certificate ? seal(said, err) : -1;

	if (fd < 0)
		return said->certificate ? -1 : 0;
	(void)close(fd);
	return 0;
}

static int send_pem(struct daemon *daemon, struct err *err)
{
	const struct host_api *said = &daemon->config.api;
	const struct wire_empty empty = {0};
	auto_fd int fd = -1;

	if (!said->certificate || !daemon->api.asker)
		return 0;
	fd = seal(said, err);
	return fd < 0 ? -1
		      : rpc_tell(daemon->api.asker->rpc, MSG_API_CERTIFICATE,
				 &wire_empty_schema, &empty, fd, err);
}

void serve_tls_renew(struct daemon *daemon)
{
	struct err err;

	if (send_pem(daemon, &err) < 0)
		log_error("the API shows no new certificate: %s", err.text);
}
