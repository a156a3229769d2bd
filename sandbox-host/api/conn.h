/*
 * A connection of a client (gateway/server/http_conn.h), and the exchange
 * that is its request: who asks is checked before any byte of the body is
 * read. Private to the server (conn.c, request.c, reply.c, stream.c, ask.c).
 */
#ifndef SANDBOX_HOST_API_CONN_H
#define SANDBOX_HOST_API_CONN_H

#include "gateway/server/http_conn.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/exchange.h"

struct conn {
	struct http_conn http;
	struct exchange exchange;
};

static inline struct http_conn *http_of(const struct exchange *exchange)
{
	return &exchange->conn->http;
}

/* ---- conn.c ---- */

/* From here on there are connections to accept, so many at once. */
void conns_open(struct api *api, size_t max);
/* Take an accepted connection. */
void conn_accept(struct api *api, int fd);

/* ---- request.c ---- */

/* A head came whole: route, credentials, bounds; then the body begins. */
void conn_begin(void *owner);
/* Refuse what the guard, the parser or a bound does. */
void conn_refuse(void *owner, unsigned status, const char *why);

/* ---- ask.c ---- */

/* Nobody waits for the daemon's answer any more. */
void asked_forget(struct exchange *exchange);

#endif
