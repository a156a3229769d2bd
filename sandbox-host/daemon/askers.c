#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/daemon/daemon.h"

#define SOCKET_NAME "host.sock"
#define ASKERS_MAX  512
#define BACKLOG	    128

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct asker *asker = owner;
	struct daemon *daemon = asker->daemon;

	(void)rpc;
	log_debug("an asker is gone: %s", why);
	DL_DELETE(daemon->askers, asker);
	daemon->asker_count--;
	if (daemon->listener)
		io_listener_pause(daemon->listener, false);
	if (asker == daemon->api.asker)
		serve_api_ended(daemon);
	free(asker);
}

struct asker *askers_add(struct daemon *daemon, int fd, uid_t uid, bool is_api,
			 struct err *err)
{
	struct asker *asker = calloc(1, sizeof(*asker));
	const struct rpc_config config = {
		.permits = answers_permits,
		.permit_count = is_api ? answers_api_permit_count
				       : answers_permit_count,
		.owner = asker,
		.rate_code = HOST_REFUSED_FULL,
		.on_closed = on_closed,
	};

	if (!asker) {
		(void)close(fd);
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
		return NULL;
	}
	*asker = (struct asker){.daemon = daemon, .uid = uid};
	asker->rpc = rpc_new(daemon->loop, fd, &config, err);
	if (!asker->rpc) {
		free(asker);
		return NULL;
	}
	DL_APPEND(daemon->askers, asker);
	daemon->asker_count++;
	if (daemon->asker_count >= ASKERS_MAX && daemon->listener)
		io_listener_pause(daemon->listener, true);
	return asker;
}

/* The sandboxes belong to the daemon's user: nobody else may ask. */
static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	struct ucred who = {0};
	socklen_t size = sizeof(who);
	struct err err;

	(void)peer;
	(void)original;
	(void)was_redirected;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
	    (who.uid != 0 && who.uid != geteuid())) {
		log_warn("user %u may not ask here", who.uid);
		(void)close(fd);
		return;
	}
	if (!askers_add(owner, fd, who.uid, false, &err))
		log_warn("serve an asker: %s", err.text);
}

static int listen_on(const char *run, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(address.sun_path, sizeof(address.sun_path),
			   "%s/" SOCKET_NAME, run);
	auto_fd int fd = -1;

	if (len < 0 || (size_t)len >= sizeof(address.sun_path))
		return err_set(err, ERR_TOO_LARGE,
			       "listen on %s/" SOCKET_NAME
			       ": the path is longer than a socket's may be",
			       run);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_system(err, "make socket %s", address.sun_path);
	(void)unlink(address.sun_path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0600) < 0 || listen(fd, BACKLOG) < 0)
		return err_system(err, "listen on %s", address.sun_path);
	return take_fd(&fd);
}

int askers_open(struct daemon *daemon, struct err *err)
{
	int fd = listen_on(daemon->config.run, err);

	if (fd < 0)
		return -1;
	daemon->listener = io_listen(daemon->loop, fd, on_accept, daemon, err);
	return daemon->listener ? 0 : -1;
}

void askers_close(struct daemon *daemon)
{
	struct asker *asker, *next;

	if (daemon->listener) {
		io_listener_free(daemon->listener);
		daemon->listener = NULL;
		(void)unlinkat(daemon->run_dir, SOCKET_NAME, 0);
	}
	DL_FOREACH_SAFE(daemon->askers, asker, next)
	{
		rpc_close(asker->rpc);
		DL_DELETE(daemon->askers, asker);
		free(asker);
	}
}
