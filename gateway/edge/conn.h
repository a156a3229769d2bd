/*
 * One connection of the sandbox, from accept to close. Its client io owns
 * its life: it is freed at that io's IO_RELEASED. Everything in it comes
 * from untrusted bytes.
 */
#ifndef GATEWAY_EDGE_CONN_H
#define GATEWAY_EDGE_CONN_H

#include "common/clock.h"
#include "common/io_tls.h"
#include "gateway/decide/advice.h"
#include "gateway/decide/request_check.h"
#include "gateway/decide/target_check.h"
#include "gateway/edge/edge.h"
#include "gateway/edge/errand.h"
#include "gateway/edge/lane.h"
#include "gateway/edit/headers.h"
#include "gateway/flow/limits.h"
#include "gateway/flow/refusal.h"
#include "gateway/h2/h2.h"
#include "gateway/http/framing.h"
#include "gateway/http/head.h"
#include "gateway/http/problem.h"
#include "gateway/http/write.h"

#define CONN_ARENA_MAX	(HEAD_ARENA_BYTES + ADVICE_ARENA_BYTES + 16 * 1024)
#define REQUEST_ID_SIZE 24

/* A client that says nothing for so long waits for the server's first word. */
#define SILENCE_MS 300

/* What changes a body on its way: at most so many bytes in at a time, bytes
 * appended to out. State is its owner's. */
#define FILTER_IN_MAX 4096
struct filter {
	int (*feed)(void *state, struct bytes in, struct buf *out,
		    struct err *err);
	int (*end)(void *state, struct buf *out, struct err *err);
	void *state;
};

struct opening;	       /* opening.h */
struct git_work;       /* git_lane.c */
struct websocket_work; /* websocket_lane.c */
struct look;	       /* look.h */
struct verify;	       /* verify.h */
struct approval;       /* approval.h */
struct internal;       /* internal.h */
struct stray;	       /* stray.h */

struct conn {
	struct edge *edge;
	struct law *law; /* by which the request at hand is decided */
	struct io *client;
	enum lane_state_id state;
	bool is_closed;
	bool is_eof;	 /* the client ended its side */
	bool is_outside; /* came by the door: each request brings the lease */

	/* HTTP/2: the session, or one stream of it and why it is refused. */
	struct h2_session *h2;
	uint64_t h2_busy_ms;	 /* when a stream was last open */
	bool is_stream, is_wide; /* of HTTP/2; may hold much */
	struct http_fault stream_fault;

	/* where to */
	struct opening *opening; /* NULL: it is over */
	struct errand *errand;	 /* NULL: a tunnel at rest */
	struct rest *rest;	 /* NULL: not at rest */
	bool has_target;	 /* decided: TARGET was passed */
	bool is_unheard;	 /* tunnel: the client has said nothing yet */
	bool is_inner; /* inside CONNECT, or redirected: origin-form only */

	/* the request */
	struct arena arena;
	struct verdict verdict;
	struct refusal refusal; /* set before STEP_DENY */
	/* What is on record of the request: then how it ends is recorded as
	 * well, once. */
	enum { RECORD_IS_DUE, RECORD_IS_OPEN, RECORD_IS_DONE } on_record;
	unsigned reply_status; /* 0: no response head went to the client */
	char request_id[REQUEST_ID_SIZE];
	unsigned requests;
	bool body_done;
	struct body_decoder *body; /* of the request; in arena */
	uint64_t bytes_up, bytes_down;
	struct rate_charge rate;

	/* the exchange */
	struct upstream *up;
	bool is_ready;	   /* up got the head */
	bool has_replied;  /* a response head went to the client */
	bool close_after;  /* no further request on this connection */
	bool keeps_length; /* filter_up gives as many bytes as it takes */
	enum framing reply_framing;
	const struct filter *filter_up;
	const struct filter *filter_down;
	/* Looks at the response's head first; -1: refusal set. May be NULL. */
	int (*check_reply)(struct conn *conn);
	struct git_work *git;
	struct lfs_work *lfs;		  /* NULL: not LFS */
	struct websocket_work *websocket; /* NULL: no handshake */
	struct look *look;		  /* a body that is held; else NULL */
	struct stray *stray;		  /* of one that streams; or NULL */
	struct verify *verify;		  /* what upstream is asked first */
	struct approval *approval;	  /* what a person is asked; or NULL */
	struct internal *internal;	  /* a request to ourselves; or NULL */

	/* what is asked of others */
	struct ask *ask; /* minter, warden, packcheck: one at a time */

	/* the tunnel */
	struct dial *dial;
	struct io *peer;

	struct conn *next, *prev;
};

/* ---- conn.c ---- */

/* A connection on a client io (taken) of edge; NULL: there are too many. */
struct conn *conn_new(struct edge *edge, struct io *client);
/* Close: the upstream, the tunnel, what was asked, the client. */
void conn_close(struct conn *conn);
/* Close once what is queued was sent. */
void conn_finish(struct conn *conn);
/* Nothing wants to know any more how it came. */
void conn_forget_opening(struct conn *conn);
/* Forget the last request, for the next one on this connection. */
void conn_reset_request(struct conn *conn);
/* Let go of the upstream (kept for others if it is fit). */
void conn_put_upstream(struct conn *conn);

/* Ask for an upstream; events arrive as EV_UP_*. 0, or -1: refusal set. */
int conn_get_upstream(struct conn *conn, struct bytes binding);

/* ---- tunnel_lane.c ---- */

/* May the server speak first: is what is wanted allowed without a look
 * inside, on a port where neither HTTP nor TLS is expected? */
bool tunnel_may_wait(const struct conn *conn);
/* May its ClientHello be for another name (ECH)? Not asked of tls.tunnel. */
bool tunnel_hides_name(const struct conn *conn);
/* 80, 443, 8080, 8443: there a client speaks HTTP or TLS. */
bool tunnel_is_web_port(uint16_t port);

/* ---- deny.c ---- */

/* Set the refusal from a constraint and one line of text (copied). */
void conn_refuse(struct conn *conn, enum constraint constraint,
		 const char *format, ...) __attribute__((format(printf, 3, 4)));
void conn_refuse_target(struct conn *conn);
void conn_refuse_request(struct conn *conn);
void conn_refuse_upstream(struct conn *conn);
/* Record conn->refusal, as the request's decision or as its end, and write
 * it as a response. 0, or -1. */
int conn_write_refusal(struct conn *conn);

/* ---- record.c ---- */

/* Record the decision on the target, and on the request. -1: it cannot be
 * kept; the refusal then says so. */
int conn_record_target(struct conn *conn);
int conn_record_request(struct conn *conn, const struct verdict *verdict);
/* Record how what was allowed ended, unless that is done. */
void conn_record_end(struct conn *conn);

/* Record what HTTP/2 refused before there was a request. */
void conn_record_fault(struct conn *conn, const struct http_fault *fault);
/* An allowed client's TLS ended: by our alert, or by its own. */
void conn_record_alert(struct conn *conn, const struct err *alert);
/* A connection that is one too many is closed without a word. */
void conn_record_crowd(struct edge *edge);

/* ---- ask.c ---- */

struct ask {
	struct conn *conn; /* NULL: nobody waits any more */
	void (*take)(struct conn *conn, struct rpc_outcome *outcome);
};
/* Ask rpc, one thing at a time (NULL: nobody there); the outcome goes to take,
 * then EV_ANSWER is delivered. 0, or -1: refusal set. */
int conn_ask(struct conn *conn, struct rpc *rpc, const struct rpc_call *call,
	     void (*take)(struct conn *conn, struct rpc_outcome *outcome));
/* Nobody waits any more. */
void conn_cancel_ask(struct conn *conn);

/* ---- exchange.c: one request and its response, both streamed ---- */

enum step exchange_step(struct conn *conn, enum lane_event event);
/* Take body bytes of the client through the decoder (and filter_up) and
 * give them to sink; stops when the sink is full. -1: refusal set. */
typedef int body_sink_fn(struct conn *conn, struct bytes bytes);
typedef bool body_full_fn(struct conn *conn);
int conn_pump_body(struct conn *conn, body_sink_fn *sink,
		   body_full_fn *is_full);
/* "100 Continue" if the client waits for it, once. */
void conn_continue(struct conn *conn);

#endif
