/*
 * HTTP/2 (RFC 9113, by nghttp2) as a translation and nothing else: every
 * stream is turned into one HTTP/1.1 exchange on an io of its own, and what
 * decides about requests and responses, records them and edits them, is
 * what does so for HTTP/1.1. There is no second lane.
 *
 *	server (towards the sandbox):		client (towards an upstream):
 *	h2 request -> head in our own		head of our own -> h2 request
 *	  serialisation -> io -> lane		  <- io <- upstream_direct
 *	h2 response <- head of ours		h2 response -> head in our own
 *	  <- io <- lane				  serialisation -> io -> guard
 *
 * Both directions are held to HTTP/1.1's rules (guard, llhttp) behind this
 * stage and to HTTP/2's own (8.2, 8.3: pseudo-fields once and first, names
 * in lower case, nothing that belongs to a connection) in it. Bodies flow
 * as far as their reader takes them: a window is given back only when the
 * io has passed the bytes on. Trailers pass as gateway/http/trailers.h says.
 * No push, no priorities; extended CONNECT for WebSockets alone, as a handshake
 * of HTTP/1.1 whose 101 is the 200 of HTTP/2 (RFC 8441). Floods of frames that
 *carry no work end the connection with ENHANCE_YOUR_CALM (budget.h).
 *
 *	session = h2_server_new(loop, client, &limits, &events, conn);
 *	IO_DATA of client: h2_session_receive(session)
 *	IO_DRAINED:	   h2_session_drained(session)
 *	on_stream:	   serve io like a connection that was accepted
 *	h2_session_is_over(session): close
 *
 * The io stays its owner's. No call into a session from on_stream or
 * on_fault; on_moved may free it.
 */
#ifndef GATEWAY_H2_H2_H
#define GATEWAY_H2_H2_H

#include "common/io.h"
#include "gateway/flow/limits.h"
#include "gateway/flow/message.h"
#include "gateway/http/guard.h"

struct h2_session;

/* Of the ios for streams: the first H2_WIDE_STREAMS_MAX that are open at one
 * time are wide. */
struct h2_stream_limits {
	struct io_limits wide, narrow;
};

struct h2_events {
	/* Server: a request came. io (taken with 0) is what a client's
	 * connection would be, with the request's head already in it;
	 * with a fault there is none, and io wants the refusal. What serves it
	 * may hold much when it is_wide. -1: cannot be served now. */
	int (*on_stream)(void *owner, struct io *io, bool is_wide,
			 const struct http_fault *fault);
	/* Something was refused that no stream tells of. May be NULL. */
	void (*on_fault)(void *owner, const struct http_fault *fault);
	/* Bytes moved, or a stream ended, outside of h2_session_receive()
	 * and h2_session_drained(). */
	void (*on_moved)(void *owner);
};

/* A session on io (borrowed), whose TLS is done; what our side says first is
 * written. stream_limits are those of the io that on_stream gets. NULL when
 * memory is out. */
struct h2_session *h2_server_new(struct io_loop *loop, struct io *io,
				 const struct h2_stream_limits *stream_limits,
				 const struct h2_events *events, void *owner);
struct h2_session *h2_client_new(struct io_loop *loop, struct io *io,
				 const struct h2_events *events, void *owner);
/* Abort every stream, say GOAWAY (queued on the io), free. */
void h2_session_free(struct h2_session *session);

/* Take all that is in io_in(); what there is to say is written. */
void h2_session_receive(struct h2_session *session);
/* The io can take more. */
void h2_session_drained(struct h2_session *session);
/* Nothing more comes of it: it broke, or ended. */
bool h2_session_is_over(const struct h2_session *session);
/* Streams that are open. */
size_t h2_session_streams(const struct h2_session *session);

/* Client: may another stream be opened now, by the peer's limit and ours? */
bool h2_client_has_room(const struct h2_session *session);
/* Client: a stream, as the io to write one HTTP/1.1 request to and read its
 * response from (yours; limits are its). A peer that resets the stream, or
 * an answer that is not strict, is IO_FAILED, the latter with ERR_INVALID.
 * The window is large when it is_wide. NULL when memory is out. */
struct io *h2_client_open(struct h2_session *session,
			  const struct io_limits *limits, bool is_wide);
/* Client: something was odd: no further stream. */
void h2_client_retire(struct h2_session *session);

#endif
