/*
 * A connection on control.sock: whose it is, what it asks (one request at a
 * time, gateway/server/http_conn.h), and what becomes of that. The handler
 * answers now, or after it asked others, or as a stream of JSON lines. Owned
 * by its io; what a handler keeps for a request lives in conn->http.arena.
 */
#ifndef GATEWAY_CONTROL_CONN_H
#define GATEWAY_CONTROL_CONN_H

#include <jansson.h>

#include "gateway/control/ask.h"
#include "gateway/control/params.h"
#include "gateway/control/route.h"
#include "gateway/server/http_conn.h"

#define CONN_BODY_MAX	(2 * 1024 * 1024)
#define CONN_ANSWER_MAX (8 * 1024 * 1024)
#define CONN_HELD_MAX	8 /* sessions */

/* A good answer to conn_ask(). message is valid for the call only. */
typedef void conn_answer_fn(struct conn *conn, const void *message);

struct conn {
	struct control *control;
	struct who who;
	struct http_conn http;
	bool is_late; /* a stream that could not ask yet */
	const struct route *route;
	struct bytes name; /* the path's "{}" */
	struct params params;
	struct ask *ask; /* what it waits for, or NULL */
	conn_answer_fn *on_answer;
	/* Once the CA's certificate is there (gateway/control/ca.h). */
	void (*on_ca)(struct conn *conn);
	void *task; /* the handler's, in the arena */
	/* The session that was checked, while its handler is called. */
	const struct msg_session *session;
	/* There is room in a stream again; the request is over. */
	void (*on_room)(struct conn *conn);
	void (*on_end)(struct conn *conn);
	/* They end with this connection, unless a listener is attached
	 * before. */
	char held[CONN_HELD_MAX][SESSION_ID_MAX + 1];
	size_t held_count;
};

/* From here on there are connections to accept. */
void conns_open(struct control *control);
/* Take an accepted connection. */
void conn_accept(struct control *control, int fd);
/* The session has a channel that holds it: no connection does any more. */
void conns_unhold(struct control *control, const char *session);
/* Let streams ask again that could not. */
void conns_go_on(struct control *control);

/* ---- for handlers: each request ends with exactly one of these, or with
 * http_conn_stream_end() ---- */

/* Answer with a JSON object (taken; NULL: memory is out). */
void conn_reply_json(struct conn *conn, unsigned status, json_t *object);
/* 204. */
void conn_reply_empty(struct conn *conn);
/* An application/problem+json. */
void conn_refuse(struct conn *conn, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, with a member "errors" (a text of many lines). */
void conn_refuse_errors(struct conn *conn, unsigned status, const char *detail,
			struct bytes errors);

/* The question to another process failed, or was refused: say so, or break
 * the stream off. */
void conn_refuse_outcome(struct conn *conn, const struct rpc_outcome *outcome);

/* Ask another process (question->fn and owner are ours). A failure or a
 * refusal answers the request, or breaks the stream off; a stream that asks
 * too often is called later, by its on_room. */
void conn_ask(struct conn *conn, struct question *question, conn_answer_fn *fn);

/* Begin an answer of JSON lines. 0, or -1: the connection was closed. */
int conn_stream_begin(struct conn *conn, void (*on_room)(struct conn *conn));
/* Add a line, without its LF. 0, or -1: the connection was closed. */
int conn_stream_line(struct conn *conn, struct bytes line);

#endif
