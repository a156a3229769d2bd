/*
 * The process that serves the HTTP API: its sockets, what it is told, its
 * start again when it ends.
 */
#ifndef SANDBOX_HOST_DAEMON_SERVE_API_H
#define SANDBOX_HOST_DAEMON_SERVE_API_H

#include <sys/types.h>

#include "common/err.h"
#include "sandbox-host/flow/api_config.h"

struct asker;
struct daemon;
struct host_config;
struct io_timer;

struct serve_api {
	int sockets[API_LISTENERS_MAX];
	size_t socket_count;
	pid_t pid;
	struct asker *asker; /* its channel; NULL: it is not there */
	struct io_timer *restart;
};

/* Listen and start it, where host.yaml says so. 0, or -1. */
int serve_api_open(struct daemon *daemon, struct err *err);
/* Its channel is gone, and it with it: start another. */
void serve_api_ended(struct daemon *daemon);
/* Is it empty, or one of those that host.yaml lets a request name? */
bool serve_api_knows(const struct daemon *daemon, struct bytes policy);
/* What the process gets of a configuration, in sealed memory. A descriptor,
 * or -1. */
int serve_api_seal(const struct daemon *daemon,
		   const struct host_config *config, struct err *err);
/* Tell it of keys and policies that hold from now on. */
void serve_api_tell(struct daemon *daemon, int sealed);
void serve_api_close(struct daemon *daemon);

/* ---- serve_tls.c ---- */

struct host_api;

/* Can the files of `tls` be read, and the key by us alone? 0, or -1; where
 * there is no TLS: 0. */
int serve_tls_check(const struct host_api *said, struct err *err);
/* Tell the API's process what is in them now; what is wrong is logged. */
void serve_tls_renew(struct daemon *daemon);

#endif
