/*
 * What the files of the web server share. Private to web*.c.
 */
#ifndef CLI_MCP_WEB_PARTS_H
#define CLI_MCP_WEB_PARTS_H

#include "cli/mcp/message.h"
#include "cli/mcp/stdio.h"
#include "cli/mcp/web.h"
#include "cli/mcp/web_rules.h"
#include "gateway/server/http_conn.h"

#define WEB_CONNS_MAX	 128
#define WEB_SESSIONS_MAX 16
#define WEB_WAITS_MAX	 32 /* requests of a session without an answer yet */
#define WEB_BODY_MAX	 (STDIO_LINE_MAX - 2)
#define WEB_ANSWER_MAX	 STDIO_OUT_MAX
#define WEB_ALIVE_MS	 15000 /* comments on a stream that has no news */
#define WEB_FAREWELL_MS	 60000 /* for the end of all sessions */
#define WEB_SESSION_SIZE 27    /* of an id, terminated */

struct web;
struct web_session;

/* A request whose answer is to come. */
struct web_wait {
	struct web_session *session;
	struct web_conn *conn; /* NULL: its client has gone */
	json_t *id;
	struct web_wait *next, *prev;
};

struct web_conn {
	struct web *web;
	struct http_conn http;
	struct web_wait *wait;	       /* for what it waits; NULL */
	struct web_session *listening; /* whose stream of GET it is; NULL */
};

struct web_session {
	struct web *web;
	char id[WEB_SESSION_SIZE];
	bool is_over; /* its process ends its sandboxes */
	bool is_told; /* its id: with the first answer */
	int pidfd;    /* of its process */
	struct io_watch *watch;
	struct io *io; /* its standard input and output; NULL: closed */
	struct io_timer *idle;
	struct web_wait *waits;
	size_t wait_count;
	struct web_conn *stream; /* of GET; NULL */
	struct web_session *next, *prev;
};

struct web {
	const struct web_config *config;
	struct io_loop *loop;
	int starter; /* its channel; -1: there is none */
	pid_t starter_pid;
	unsigned starter_serial; /* of the last wish */
	char token[WEB_TOKEN_MAX + 1];
	struct http_server server;
	struct io_timer *alive;
	struct web_session *sessions;
	size_t session_count;
	size_t io_count; /* of sessions, that are not released yet */
};

/* ---- web_conn.c ---- */

/* From here on there are connections to accept. */
void web_conns_open(struct web *web);
void web_accept(struct web *web, int fd);
/* Answer it. type may be NULL: no body. session: the id to tell, or NULL. */
void web_conn_reply(struct web_conn *conn, unsigned status, const char *type,
		    struct bytes body, const char *session);
/* Answer with an error of JSON-RPC that says why. */
void web_conn_refuse(struct web_conn *conn, unsigned status, int code,
		     const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Begin a stream of events; 0, or -1: the client has gone. */
int web_conn_stream(struct web_conn *conn);
/* Send one message (a line of JSON) as an event. */
void web_conn_event(struct web_conn *conn, struct bytes line);
/* Say nothing on a stream, so that nobody in between takes it for dead. */
void web_conn_alive(struct web_conn *conn);

/* ---- web_request.c ---- */

/* A head came whole: check it; its answer, or its body, comes next. */
void web_begin(void *owner);
/* The body came whole. */
void web_post(void *owner);

/* ---- web_starter.c ---- */

/* Start who starts sessions, before there is anything that it should not
 * have. 0, or -1. */
int web_starter_open(struct web *web, struct err *err);
/* A session's process, with end (the caller's) as its standard input and
 * output: its pidfd, or -1. */
int web_starter_start(struct web *web, int end, struct err *err);
void web_starter_kill_all(const struct web *web);
void web_starter_close(struct web *web);
/* From here on we open no file, and start and connect to nothing. 0, or -1. */
int web_confine(struct err *err);

/* ---- web_session.c ---- */

/* Start one. NULL: err says why not. */
struct web_session *web_session_new(struct web *web, struct err *err);
struct web_session *web_session_find(struct web *web, struct bytes id);
/* Tell it a message. 0, or -1: it does not read. */
int web_session_tell(struct web_session *session, const struct message *message,
		     struct err *err);
/* The same with a request: conn waits for its answer. 0, or -1: it does not
 * read, too many wait, or one with this id does already. */
int web_session_ask(struct web_session *session, struct web_conn *conn,
		    const struct message *message, struct err *err);
/* Nobody waits for the answer to id any more. */
void web_session_cancel(struct web_session *session, const json_t *id);
/* The stream of GET: an older one ends. */
void web_session_listen(struct web_session *session, struct web_conn *conn);
/* The connection has gone. */
void web_session_leave(void *owner);
/* End it, and its sandboxes; who waits is told. */
void web_session_end(struct web_session *session);

#endif
