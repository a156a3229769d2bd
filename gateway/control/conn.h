/*
 * A connection on control.sock. One request at a time: its head passes our
 * own guard, its body is read whole (bounded by the route), the handler
 * answers now, or after it asked others, or as a stream of JSON lines. Owned
 * by its io; what a handler keeps for a request lives in conn->arena.
 */
#ifndef GATEWAY_CONTROL_CONN_H
#define GATEWAY_CONTROL_CONN_H

#include <jansson.h>

#include "gateway/control/ask.h"
#include "gateway/control/params.h"
#include "gateway/control/route.h"
#include "gateway/http/framing.h"

#define CONN_BODY_MAX	(2 * 1024 * 1024)
#define CONN_ANSWER_MAX (8 * 1024 * 1024)
#define CONN_IDLE_MS	60000 /* between requests */
#define CONN_HEAD_MS	10000 /* from its first byte */
#define CONN_BODY_MS	30000
#define CONN_STALLED_MS 60000 /* a stream that nobody reads */
#define CONN_LINGER_MS	1000

enum conn_state { CONN_HEAD, CONN_BODY, CONN_WAIT, CONN_STREAM, CONN_CLOSED };

/* A good answer to conn_ask(). message is valid for the call only. */
typedef void conn_answer_fn(struct conn *conn, const void *message);

struct conn {
	struct control *control;
	struct io *io;
	struct who who;
	enum conn_state state;
	bool is_turning; /* the loop over requests is running */
	bool has_begun;	 /* bytes of this head came */
	bool is_late;	 /* a stream that could not ask yet */
	struct guard guard;
	struct arena arena; /* of the request */
	struct request request;
	const struct route *route;
	struct bytes name; /* the path's "{}" */
	struct params params;
	struct body_decoder decoder;
	struct buf body;
	struct ask *ask; /* what it waits for, or NULL */
	conn_answer_fn *on_answer;
	void *task; /* the handler's, in arena */
	/* The session that was checked, while its handler is called. */
	const struct msg_session *session;
	/* Of a stream: there is room again, and it ends. */
	void (*on_room)(struct conn *conn);
	void (*on_end)(struct conn *conn);
	/* Ends with this connection, unless a listener is attached before;
	 * "": none. */
	char held[SESSION_ID_MAX + 1];
	struct conn *next, *prev;
};

/* Take an accepted connection. */
void conn_accept(struct control *control, int fd);
/* Close it at once, whatever was under way. */
void conn_close(struct conn *conn);
void conns_close(struct control *control);
/* The session has a channel that holds it: no connection does any more. */
void conns_unhold(struct control *control, const char *session);
/* Let streams ask again that could not. */
void conns_go_on(struct control *control);

/* ---- for handlers: each request ends with exactly one of these ---- */

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
int conn_stream_begin(struct conn *conn, void (*on_room)(struct conn *conn),
		      void (*on_end)(struct conn *conn));
/* Add a line, without its LF. 0, or -1: the connection was closed. */
int conn_stream_line(struct conn *conn, struct bytes line);
/* Must the source pause until on_room? */
bool conn_stream_is_full(const struct conn *conn);
/* It was all. */
void conn_stream_end(struct conn *conn);

#endif
