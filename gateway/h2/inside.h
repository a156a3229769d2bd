/*
 * What session.c (nghttp2 and the connection's io), stream.c (life of a
 * stream, h2 to HTTP/1.1) and outbound.c (HTTP/1.1 to h2) share.
 */
#ifndef GATEWAY_H2_INSIDE_H
#define GATEWAY_H2_INSIDE_H

#include <nghttp2/nghttp2.h>

#include "common/io_pair.h"
#include "gateway/h2/budget.h"
#include "gateway/h2/h2.h"
#include "gateway/h2/section.h"
#include "gateway/http/framing.h"
#include "gateway/http/head.h"

/* What was let in by a window fits out of our end of a stream's io, also when
 * each of its bytes came as a chunk. */
#define H2_STREAM_OUT_MAX (8 * H2_UPSTREAM_WINDOW)

struct h2_session {
	struct io_loop *loop;
	struct io *io;
	nghttp2_session *ng;
	bool is_server;
	bool is_inside;	   /* nghttp2 is on the stack */
	bool is_broken;	   /* nothing more comes of it */
	bool is_condemned; /* we ended it, and said why */
	bool is_retired;
	struct h2_events events;
	void *owner;
	struct h2_stream_limits stream_limits;
	struct h2_budget budget;
	struct h2_stream *streams;
	size_t stream_count;
	size_t wide_count; /* server: of them */
};

enum out_state { OUT_HEAD, OUT_BODY, OUT_DONE };

struct h2_stream {
	struct h2_session *session; /* NULL: over, waits for its io */
	int32_t id;		    /* client: 0 before its request */
	bool is_wide;		    /* its queues and window are */
	struct io *io;		    /* our end; NULL before a head */
	char method[GUARD_METHOD_MAX + 1];
	/* h2 to HTTP/1.1 */
	struct arena arena_in;
	struct section section;
	enum framing in_framing;
	bool in_began; /* its (final) head was passed on */
	bool in_ended;
	bool is_websocket; /* server: asked for; bytes both ways after 101 */
	bool has_data;
	bool was_reset; /* by the peer */
	size_t held;	/* bytes whose window was not given back */
	/* HTTP/1.1 to h2 */
	struct arena arena_out;
	enum out_state out;
	bool is_eof;
	bool is_late; /* its answer waits for the request's end no longer */
	struct guard guard;
	struct body_decoder decoder;
	struct buf trailer;
	struct h2_stream *next, *prev;
};

/* ---- session.c ---- */

/* Send what there is, as far as the io takes it. */
void h2_session_flush(struct h2_session *session);
/* The peer has gone too far: tell it, and the owner. */
void h2_session_condemn(struct h2_session *session, const char *reason);
/* Flush, then tell the owner, which may free the session. */
void h2_session_moved(struct h2_session *session);

/* ---- stream.c ---- */

struct h2_stream *h2_stream_new(struct h2_session *session);
/* Out of the session; the io's peer learns how it ended: in order when the
 * code is NO_ERROR or all of the response is there. */
void h2_stream_over(struct h2_stream *stream, uint32_t code);
/* Make the io; the far end is for the other side. -1: memory is out. */
int h2_stream_open_io(struct h2_stream *stream, const struct io_limits *limits,
		      struct io **far);
/* The section is complete. is_whole: END_STREAM came with it. */
void h2_stream_take_section(struct h2_stream *stream, bool is_whole);
void h2_stream_take_data(struct h2_stream *stream, struct bytes bytes);
void h2_stream_take_end(struct h2_stream *stream);
void h2_stream_reset(struct h2_stream *stream, uint32_t code);

/* ---- outbound.c ---- */

void h2_stream_expect_head(struct h2_stream *stream);
/* Something is in io_in(), or its end came. */
void h2_stream_pull(struct h2_stream *stream);

#endif
