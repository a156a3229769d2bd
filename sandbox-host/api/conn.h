/*
 * A connection of a client. One request at a time: its head passes our own
 * guard, who asks is checked before any byte of the body is read, then the
 * body is collected or streams, and the handler answers. Private to the
 * server (conn.c, request.c, reply.c, stream.c, ask.c).
 */
#ifndef SANDBOX_HOST_API_CONN_H
#define SANDBOX_HOST_API_CONN_H

#include "gateway/http/framing.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/exchange.h"

#define CONN_IDLE_MS   75000 /* between requests: the SDK keeps 30 s */
#define CONN_HEAD_MS   10000 /* from its first byte */
#define CONN_BODY_MS   60000 /* the whole of one that is collected */
#define CONN_LINGER_MS 1000

enum conn_state {
	CONN_HEAD,   /* a request's head is to come */
	CONN_BODY,   /* its body is collected */
	CONN_SERVED, /* the handler was called; its body may stream */
	CONN_STREAM, /* the answer streams */
	CONN_RAW,    /* another protocol */
	CONN_CLOSED
};

struct conn {
	struct api *api;
	struct io *io;
	enum conn_state state;
	uint64_t serial;     /* of the request */
	bool is_turning;     /* the loop over what came is running */
	bool has_begun;	     /* bytes of this head came */
	bool is_body_over;   /* nothing of the body is left to come */
	bool is_body_paused; /* by the handler */
	bool is_head_only;   /* the answer has no body: HEAD */
	bool has_ended;	     /* raw: its side; not told, bytes are left */
	bool is_stalled;     /* some of the answer waits to be sent */
	uint64_t out_bytes;  /* of an answer that streams, so far */
	uint64_t sent_bytes; /* of those, when that was looked at last */
	struct guard guard;
	struct arena arena;
	struct request request;
	struct body_decoder decoder;
	uint64_t body_bytes;  /* of one that streams, so far */
	struct buf body;      /* of one that is collected */
	enum framing framing; /* of an answer that streams */
	uint64_t out_left;    /* FRAMING_LENGTH: still to be written */
	struct exchange exchange;
	struct conn *next, *prev;
};

/* ---- conn.c ---- */

/* Take an accepted connection. */
void conn_accept(struct api *api, int fd);
/* Close it at once; on_end follows when it is released. */
void conn_close(struct conn *conn);
/* Look at what came. */
void conn_turn(struct conn *conn);
/* The answer is written: the next request, or the end. */
void conn_request_done(struct conn *conn);
/* Of an answer that streams, whose deadline passed: did its client read some
 * of it since? Then it has as long again. (stream.c) */
bool conn_is_read(struct conn *conn);
static inline struct conn *conn_of(const struct exchange *exchange)
{
	return exchange->conn;
}

/* ---- request.c ---- */

/* A head came whole: route, credentials, bounds; then the body begins. */
void conn_begin(struct conn *conn);
/* Take some of the body. True: go on. */
bool conn_read_body(struct conn *conn);
/* Refuse what the guard, the parser or a bound does. */
void conn_refuse(struct conn *conn, unsigned status, const char *code,
		 const char *message);

/* ---- ask.c ---- */

/* Nobody waits for the daemon's answer any more. */
void asked_forget(struct exchange *exchange);

#endif
