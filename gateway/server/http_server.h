/*
 * The server side of HTTP/1.1, for endpoints of our own: control's socket,
 * sallyport-api, `sallyport mcp --listen`. Here is what their connections
 * share: how many there may be, and the service that they are for, which
 * says what is asked and who may ask. Everything else is the same for all
 * (http_conn.h).
 *
 *	static const struct http_service service = {
 *		.on_head = on_head, ... };
 *	http_server_init(&server, &service, loop, CONNS_MAX);
 *	http_server_listen(&server, fd, on_client, owner, &err);
 *
 * Owned by the process; it outlives its connections.
 */
#ifndef GATEWAY_SERVER_HTTP_SERVER_H
#define GATEWAY_SERVER_HTTP_SERVER_H

#include "common/io.h"

#define HTTP_LISTENERS_MAX 8

struct http_conn;

/* What a service does. owner: as http_conn_open() got it. What may be NULL
 * says so. */
struct http_service {
	size_t arena_max;  /* bytes that a request may keep, beside its head */
	size_t answer_max; /* bytes of answers that wait to be sent */
	/* Who waits for a head longest makes room for who comes. */
	bool makes_room;

	/* A head came whole, and nothing of its body is looked at yet: answer
	 * it, or let its body come with http_conn_collect() or
	 * http_conn_pass(). */
	void (*on_head)(void *owner);
	/* The body is whole in conn->body; or comes from now on in pieces. */
	void (*serve)(void *owner);
	/* Of http_conn_pass() and after http_conn_switch(): bytes came, valid
	 * for the call only; it was all. NULL where neither is called. */
	void (*on_piece)(void *owner, struct bytes piece);
	void (*on_complete)(void *owner);
	/* Of an answer that streams: there is room again. NULL: nobody
	 * waits for it. */
	void (*on_room)(void *owner);
	/* Answer with that error, of status 4xx or 5xx. */
	void (*refuse)(void *owner, unsigned status, const char *why);
	/* The connection was closed: nothing can be said any more. NULL:
	 * `forget` is enough. */
	void (*on_close)(void *owner);
	/* The request is over; at the end of the loop turn at the latest. It
	 * may be called when there was none. */
	void (*forget)(void *owner);
	/* Free the owner. */
	void (*on_released)(void *owner);
	/* A handshake waits for a certificate: 0, or -1. NULL: no TLS. */
	int (*on_hello)(void *owner);
};

struct http_server {
	const struct http_service *service;
	struct io_loop *loop;
	struct io_listener *listeners[HTTP_LISTENERS_MAX];
	size_t listener_count;
	struct http_conn *conns; /* who waits longest for a head comes first */
	size_t conn_count, conns_max;
	bool is_full; /* listeners pause */
};

void http_server_init(struct http_server *server,
		      const struct http_service *service, struct io_loop *loop,
		      size_t conns_max);
/* Accept on fd (taken) while there is room. 0, or -1. */
int http_server_listen(struct http_server *server, int fd, io_accept_fn *fn,
		       void *owner, struct err *err);
/* Accept nobody any more. */
void http_server_stop(struct http_server *server);
/* Close all of its connections. */
void http_server_close(struct http_server *server);

#endif
