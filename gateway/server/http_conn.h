/*
 * A connection of a client. One request at a time: its head passes our own
 * guard (gateway/http) within HTTP_HEAD_MS, the service looks at it before
 * any byte of the body is read, the body comes within its bounds, and the
 * service answers, whole or as a stream. What is ambiguous, too large or too
 * slow is refused, and the connection ends; so it does where an answer
 * leaves some of a body unread. Whoever does not read its answer is asked for
 * nothing more, and cut off after HTTP_STALLED_MS. A body is wiped wherever
 * it was.
 *
 * A part of its owner's struct, which is freed in on_released. Each request
 * ends with exactly one of http_conn_reply(), http_conn_stream_end() and
 * http_conn_close(), all of which may be called anywhere.
 */
#ifndef GATEWAY_SERVER_HTTP_CONN_H
#define GATEWAY_SERVER_HTTP_CONN_H

#include "common/arena.h"
#include "gateway/flow/message.h"
#include "gateway/http/framing.h"
#include "gateway/server/http_server.h"

#define HTTP_IDLE_MS	60000 /* between requests */
#define HTTP_HEAD_MS	10000 /* from its first byte; a handshake */
#define HTTP_BODY_MS	30000 /* the whole of one that is collected */
#define HTTP_STALLED_MS 60000 /* nobody reads an answer, sends a body */
#define HTTP_LINGER_MS	1000
#define HTTP_OUT_HIGH	(256 * 1024)
#define HTTP_PIECE_MAX	(16 * 1024)
#define HTTP_UNBOUNDED	UINT64_MAX

enum http_conn_state {
	HTTP_CONN_HEAD,	  /* a request's head is to come */
	HTTP_CONN_BODY,	  /* its body is collected */
	HTTP_CONN_SERVED, /* by its service; its body may come in pieces */
	HTTP_CONN_STREAM, /* the answer streams */
	HTTP_CONN_RAW,	  /* another protocol */
	HTTP_CONN_CLOSED
};

struct http_conn {
	struct http_server *server;
	void *owner;
	struct io *io;
	enum http_conn_state state;
	bool is_turning;   /* the loop over what came is running */
	bool has_begun;	   /* bytes of this head came */
	bool is_body_over; /* nothing of the body is left to come */
	bool is_paused;	   /* pieces are held back */
	bool has_ended;	   /* raw: its side; not told, bytes are left */
	bool is_stalled;   /* some of a stream waits to be sent */
	struct guard guard;
	struct arena arena; /* of the request */
	struct request request;
	struct body_decoder decoder;
	uint64_t body_max;
	struct buf body;      /* of one that is collected */
	enum framing framing; /* of an answer that streams */
	uint64_t out_left;    /* FRAMING_LENGTH: still to be written */
	uint64_t out_bytes;   /* of a stream, so far */
	uint64_t sent_bytes;  /* of those, when that was looked at last */
	struct http_conn *next, *prev;
};

/* Take an accepted connection. 0; -1 when memory is out: fd is closed then,
 * and nothing follows. */
int http_conn_open(struct http_conn *conn, struct http_server *server, int fd,
		   void *owner);
/* Close it at once, whatever was under way. */
void http_conn_close(struct http_conn *conn);

/* ---- the body; for on_head ---- */

/* Collect all of it, up to max bytes, then call `serve`. */
void http_conn_collect(struct http_conn *conn, size_t max);
/* Call `serve` at once; then come pieces, max bytes in all. */
void http_conn_pass(struct http_conn *conn, uint64_t max);
/* Hold pieces back, or no more. */
void http_conn_pause(struct http_conn *conn, bool is_paused);

/* ---- the answer ---- */

/* A whole one: fields lack those of the framing. To HEAD, and with 204 and
 * 304, no body is sent. A stream that has begun is broken off instead. */
void http_conn_reply(struct http_conn *conn, unsigned status,
		     const struct fields *fields, struct bytes body);
/* Begin one that streams. len: Content-Length, or UINT64_MAX when it is not
 * known. 0, or -1: the connection is closed. */
int http_conn_stream_begin(struct http_conn *conn, unsigned status,
			   const struct fields *fields, uint64_t len);
/* Add to it. 0, or -1: the connection is closed, or no stream (any more). */
int http_conn_stream_write(struct http_conn *conn, struct bytes bytes);
/* Must the source pause until on_room? Whoever goes on is bounded by
 * answer_max. */
bool http_conn_is_full(const struct http_conn *conn);
/* It was all (len bytes, where that was said; else the connection ends). */
void http_conn_stream_end(struct http_conn *conn);
/* Send that head, of a 101: from then on what comes goes to on_piece as it
 * is, on_complete says that the client has ended its side, and
 * http_conn_stream_*() write as it is. What came already is held back until
 * http_conn_pause() says no more. 0, or -1: the connection is closed. */
int http_conn_switch(struct http_conn *conn, struct bytes head);

#endif
