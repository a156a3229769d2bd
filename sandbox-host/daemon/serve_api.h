/*
 * The process that serves the HTTP API: its sockets, what it is told, its
 * start again when it ends.
 */
#ifndef SANDBOX_HOST_DAEMON_SERVE_API_H
#define SANDBOX_HOST_DAEMON_SERVE_API_H

#include <sys/types.h>

#include "common/arena.h"
#include "common/err.h"
#include "sandbox-host/flow/api_config.h"

struct asker;
struct daemon;
struct io_timer;

struct serve_api {
	int sockets[API_LISTENERS_MAX];
	size_t socket_count;
	pid_t pid;
	struct asker *asker; /* its channel; NULL: it is not there */
	struct io_timer *restart;
	struct arena arena;			      /* of policies */
	struct api_policy policies[API_POLICIES_MAX]; /* as it was told */
	size_t policy_count;
};

/* Listen and start it, where host.yaml says so. 0, or -1. */
int serve_api_open(struct daemon *daemon, struct err *err);
/* Its channel is gone, and it with it: start another. */
void serve_api_ended(struct daemon *daemon);
/* Is it empty, or one of those that host.yaml lets a request name? */
bool serve_api_knows(const struct serve_api *serve, struct bytes policy);
void serve_api_close(struct daemon *daemon);

/* ---- serve_tls.c ---- */

struct host_api;

/* Can the files of `tls` be read, and the key by us alone? 0, or -1; where
 * there is no TLS: 0. */
int serve_tls_check(const struct host_api *said, struct err *err);
/* Tell the API's process what is in them now; what is wrong is logged. */
void serve_tls_renew(struct daemon *daemon);

#endif
