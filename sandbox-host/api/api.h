/*
 * sallyport-api: the process that serves the HTTP API of sallyport-host. It
 * parses what strangers send, so it can open, connect and execute nothing:
 * what it may do is what the daemon does for it over one channel, and what
 * its sockets, which the daemon bound, bring in. It ends with the daemon.
 *
 *	config	-> what the daemon says at the start (flow/api_config.h)
 *	auth	-> API keys, tokens of sandboxes
 *	route	-> path to handler
 *	conn	-> one connection, and the exchange on it
 *	request -> who asks, and for what
 *	reply, stream -> what handlers answer with (exchange.h)
 *	ask	-> the daemon, for a handler
 *	lifecycle*, endpoints, diagnostics, proxy -> the areas of this file's
 *		   API; execd_*, files_*, egress_* are their own
 */
#ifndef SANDBOX_HOST_API_API_H
#define SANDBOX_HOST_API_API_H

#include "common/io.h"
#include "common/rpc.h"
#include "gateway/server/http_server.h"
#include "sandbox-host/api/pace.h"
#include "sandbox-host/flow/api_config.h"

#define API_CONNS_MAX 2048

struct api_tls;
struct execd;

struct api {
	struct io_loop *loop;
	struct rpc *daemon;
	struct api_memory memory; /* of config */
	struct api_config config;
	struct api_tls *tls; /* NULL: it serves without */
	struct http_server server;
	bool is_loading; /* what there is is asked; until then: */
	int waiting[API_LISTENERS_MAX]; /* sockets */
	size_t waiting_count;
	struct pace pace;
	struct pace_held held;
	struct execd *execd; /* what runs by execd's calls; NULL: nothing */
};

/* Serve with what is in api: the loop, the channel, the configuration;
 * sockets are taken. 0, or -1. */
int api_open(struct api *api, const int *sockets, size_t count,
	     struct err *err);

/* All that is there is known: serve, now or once it is opened. 0, or -1. */
int api_serve(struct api *api, struct err *err);

/* ---- tls.c ---- */

/* Serve those sockets once there is a certificate. 0, or -1. */
int api_tls_open(struct api *api, const int *sockets, size_t count,
		 struct err *err);
/* PEM in fd (stays the caller's): show that from now on. What is wrong is
 * logged, and the one before is shown. */
void api_tls_take(struct api *api, int fd);
/* Begin a handshake; and go on where it asks for a certificate. 0, or -1. */
int api_tls_begin(struct api *api, struct io *io, struct err *err);
int api_tls_show(struct api *api, struct io *io, struct err *err);

#endif
