/*
 * One HTTP request that sallyport-api serves, and its answer: what the
 * handlers of every area (lifecycle*.c, execd_*.c, files_*.c, egress_*.c)
 * see of the server. Everything in it is untrusted but `sandbox`, whose
 * token was checked where the route wants one.
 *
 *	static void show(struct exchange *exchange)
 *	{
 *		exchange_ask(exchange, &question, on_shown);
 *	}
 *	static const struct route routes[] = {
 *		{"GET", "/sandboxes/{}", ROUTE_KEY, 0, ROUTE_WHOLE, show},
 *		{0},
 *	};
 *
 * Life: an exchange is valid from its handler's call until its answer is
 * complete (exchange_reply_*(), exchange_fail(), exchange_stream_end(),
 * exchange_break()) or its client is gone, whichever is first. Then on_end
 * is called once, at the latest at the end of the loop turn, and after that
 * the exchange must not be touched. What a handler keeps elsewhere (a
 * command that runs, a channel) it lets go of in on_end. Memory of the
 * arena ends there too. Each request ends with exactly one answer.
 *
 * Nothing here waits; what another process is asked, is told later.
 */
#ifndef SANDBOX_HOST_API_EXCHANGE_H
#define SANDBOX_HOST_API_EXCHANGE_H

#include <jansson.h>

#include "common/arena.h"
#include "common/fields.h"
#include "common/io.h"
#include "common/rpc.h"
#include "sandbox-host/api/route.h"
#include "sandbox-host/flow/messages.h"

#define EXCHANGE_ARENA_MAX  (8 * 1024 * 1024)
#define EXCHANGE_FIELDS_MAX 120		       /* that a handler adds */
#define EXCHANGE_ANSWER_MAX (16 * 1024 * 1024) /* of a whole answer */
#define EXCHANGE_FAIL_MAX   1024	       /* bytes of a message */
#define EXCHANGE_ASK_MS	    30000

struct api;
struct exchange;
struct conn;

typedef void exchange_fn(struct exchange *exchange);
/* A piece of a body that streams; valid for the call only. */
typedef void exchange_piece_fn(struct exchange *exchange, struct bytes piece);
/* A good answer to exchange_ask(). message is valid for the call only; fd is
 * the callee's to take with take_fd(), or closed afterwards. */
typedef void exchange_answer_fn(struct exchange *exchange, const void *message,
				int *fd);

struct exchange {
	struct api *api;
	struct conn *conn; /* the server's */
	const struct route *route;
	struct arena *arena; /* of the request */
	struct bytes method;
	struct bytes sandbox; /* the id in the path; empty: none. Not yet known
				 to be that of a sandbox */
	/* What stood for each "{}" of the pattern, decoded; never with a NUL,
	 * a '/' or empty. */
	struct bytes pieces[ROUTE_PIECES_MAX];
	struct bytes rest;	/* what stood for "**": encoded as it came,
				   begins with '/'; may be empty */
	struct bytes query_raw; /* encoded, without '?' */
	bool has_query;
	const struct fields *fields; /* Host, framing, hop-by-hop ones and
					our own credentials are not there */
	struct bytes body;	     /* ROUTE_WHOLE: all of it */
	uint64_t body_len;	     /* Content-Length; UINT64_MAX: chunked */
	bool is_websocket; /* an Upgrade to "websocket" is asked for */

	/* For the handler to set. All may stay NULL. */
	void *task;
	exchange_fn *on_end;
	exchange_fn *on_room; /* of a stream or raw: there is room again */
	exchange_piece_fn *on_piece; /* ROUTE_STREAM, and raw: bytes came */
	exchange_fn *on_complete;    /* ROUTE_STREAM: the body was all there is;
					raw: the client ended its side */
	/* In place of the usual answer to a refusal of exchange_ask(). */
	void (*on_refused)(struct exchange *exchange,
			   const struct rpc_outcome *outcome);

	/* The server's. */
	unsigned client;     /* pace.h */
	bool is_held;	     /* it counts as one of its client's */
	struct fields added; /* of the answer */
	struct asked *asked;
	const char *gone; /* gone.h */
	char request_id[64 + 1];
};

/* ---- the request ---- */

/* The first value of a parameter, decoded (%XX and '+'), in the arena.
 * False: there is none. */
bool exchange_query(struct exchange *exchange, const char *name,
		    struct bytes *value);
/* All values of it, at most max, in order; how many there were. */
size_t exchange_query_all(struct exchange *exchange, const char *name,
			  struct bytes *values, size_t max);
/* The same as a number; *value stays when there is none. False: it was no
 * number up to max, and the request is answered with 400. */
bool exchange_query_number(struct exchange *exchange, const char *name,
			   uint64_t max, uint64_t *value);
/* "true", "1" or empty; "false", "0". False as above. */
bool exchange_query_flag(struct exchange *exchange, const char *name,
			 bool *value);
/* A field's value; empty: there is none. */
struct bytes exchange_field(const struct exchange *exchange, const char *name);
/* The body as JSON, or NULL: the request is answered with 400 then. The
 * caller's to json_decref(). Depth and duplicates are bounded. */
json_t *exchange_json(struct exchange *exchange);
/* Of a body that streams: no piece comes until it is off again. */
void exchange_body_pause(struct exchange *exchange, bool is_paused);

/* ---- a whole answer ---- */

/* Add a field to the answer that follows; both are copied. What cannot stand
 * in a field, and what is one too many, is left out. */
void exchange_add_field(struct exchange *exchange, const char *name,
			struct bytes value);
/* JSON (taken; NULL: memory is out, a 500). */
void exchange_reply_json(struct exchange *exchange, unsigned status,
			 json_t *value);
void exchange_reply_bytes(struct exchange *exchange, unsigned status,
			  const char *content_type, struct bytes bytes);
/* Without a body: 204, or Content-Length: 0. */
void exchange_reply_empty(struct exchange *exchange, unsigned status);
/* {"code": code, "message": ...}. status >= 400. */
void exchange_fail(struct exchange *exchange, unsigned status, const char *code,
		   const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void exchange_fail_memory(struct exchange *exchange); /* 500 */

/* ---- an answer that streams ---- */

/* Begin it. len: Content-Length, or UINT64_MAX when it is not known. To HEAD,
 * what is written is dropped. 0, or -1: the client is gone. */
int exchange_stream_begin(struct exchange *exchange, unsigned status,
			  const char *content_type, uint64_t len);
/* Add to it. 0, or -1: the client is gone (on_end is yet to come), or more
 * than len was written. */
int exchange_stream_write(struct exchange *exchange, struct bytes bytes);
/* Must the source pause until on_room? Whoever goes on is bounded by
 * EXCHANGE_ANSWER_MAX, beyond which the connection is closed. */
bool exchange_stream_is_full(const struct exchange *exchange);
/* It was all (len bytes, where that was said; else the connection ends). */
void exchange_stream_end(struct exchange *exchange);
/* Break it off: the connection ends, so that the client sees it. */
void exchange_break(struct exchange *exchange);

/* ---- another protocol (101) ---- */

/* Answer an Upgrade with 101 and the fields that were added; from then on the
 * bytes are the handler's: on_piece gets what comes (each byte once,
 * exchange_body_pause() holds it back, and lets it come first of all),
 * exchange_stream_write() sends, on_complete is the client's end,
 * exchange_break() or exchange_stream_end() (which sends first what is queued)
 * ours. No timeout of ours holds any more but for a client that does not
 * read. 0, or -1: the client is gone. */
int exchange_upgrade(struct exchange *exchange);
/* Does the request open a WebSocket (RFC 6455 4.2.2)? *accept is what
 * Sec-WebSocket-Accept must say before exchange_upgrade() then, in the arena.
 * False: the request is answered. */
bool exchange_websocket(struct exchange *exchange, struct bytes *accept);

/* ---- the daemon ---- */

struct exchange_question {
	uint16_t type; /* MSG_HOST_* */
	const struct wire_schema *schema;
	const void *message;
	int fd; /* stays the caller's; -1 */
	const struct wire_schema *reply_schema;
	unsigned timeout_ms; /* 0: EXCHANGE_ASK_MS */
};
/* Ask the daemon. A failure or a refusal answers the request (on_refused
 * instead, if it is set; a stream that has begun is broken off). One question
 * at a time. on_answer is never called inside. */
void exchange_ask(struct exchange *exchange,
		  const struct exchange_question *question,
		  exchange_answer_fn *on_answer);
/* Get a channel of that kind to exchange->sandbox (enum host_channel_kind):
 * on_answer's fd is it, its message a struct wire_empty. */
void exchange_channel(struct exchange *exchange, enum host_channel_kind kind,
		      exchange_answer_fn *on_answer);
/* The usual answer to a refusal or failure, with the status and code for it
 * (an unknown sandbox 404, a wrong state 409, ...). */
void exchange_fail_outcome(struct exchange *exchange,
			   const struct rpc_outcome *outcome);

struct io_loop *exchange_loop(const struct exchange *exchange);

#endif
