/*
 * One HTTP/1.1 exchange with an origin after the other, whoever owns the
 * TLS: for a request without a credential the edge itself (direct), for one
 * with a credential the courier, through a leg (gateway/flow/leg.h). To its
 * user both are the same: ask, wait for READY, send a head and a body, get
 * the response as HEAD, BODY spans and END.
 *
 *	up = upstream_get(pool, &target, binding, on_event, lane, &err);
 *	UPSTREAM_READY:	  upstream_send(up, &request, &labels);
 *			  upstream_body(up, span)...; upstream_body_end(up);
 *	UPSTREAM_HEAD:	  upstream_response(up)
 *	UPSTREAM_BODY:	  upstream_span(up): take all of it, or call
 *			  upstream_pause() inside the event: it then comes
 *			  to rest after this span until upstream_resume()
 *	UPSTREAM_END:	  upstream_put(up)
 *	UPSTREAM_FAILED:  upstream_fault(up), then upstream_put(up)
 *
 * A request that is_websocket may be answered with 101 (HEAD): then BODY
 * spans are what upstream sends, and upstream_body() is what it gets, each
 * until its END. Any other answer is as ever, but the connection is never used
 * again.
 *
 * Response bytes are untrusted: guard, llhttp and framing stand before
 * every event. A connection on which anything was odd is never used again.
 * upstream_put() may be called anywhere, in any state; no event follows.
 */
#ifndef GATEWAY_UPSTREAM_UPSTREAM_H
#define GATEWAY_UPSTREAM_UPSTREAM_H

#include "gateway/flow/leg.h"
#include "gateway/flow/limits.h"
#include "gateway/flow/message.h"
#include "gateway/flow/target.h"
#include "gateway/http/guard.h"
#include "gateway/keeper/keeper.h"
#include "gateway/tls/client.h"
#include "policies/scope.h"

#define UPSTREAM_BINDING_MAX_LEN 128

enum upstream_event {
	UPSTREAM_READY,
	UPSTREAM_HEAD,
	UPSTREAM_BODY,
	UPSTREAM_END,
	UPSTREAM_DRAINED, /* the body may go on after upstream_is_full() */
	UPSTREAM_FAILED,
	UPSTREAM_EVENT_MAX
};

struct upstream;
typedef void upstream_fn(struct upstream *up, enum upstream_event event,
			 void *owner);

/* The connections of one edge. Owned by the edge. */
struct upstream_pool {
	struct keeper *keeper;
	struct tls_client *tls;
	struct upstream *idle;
	struct upstream_h2 *h2; /* connections that speak HTTP/2 */
	size_t idle_count;
	unsigned response_ms; /* silence that is waited out */
	unsigned trust;	      /* how often that was told anew */
	/* Whose bindings legs are opened with; NULL: none can be. */
	const struct scope *scope;
};

/* The policy is another: close what is kept for later and goes where it may
 * not any more, or was opened with a credential. */
typedef bool upstream_may_fn(const struct target *target, void *owner);
void upstream_pool_review(struct upstream_pool *pool, upstream_may_fn *may,
			  void *owner);

/* Whom to trust was told anew: what is kept was verified by what held before,
 * and no request that comes later goes over it. What runs ends in order. */
void upstream_pool_distrust(struct upstream_pool *pool);

/* What a request is called in records and by which rule it passed. */
struct upstream_labels {
	struct bytes request_id;
	struct bytes rule;
};

/* An exchange with target; binding empty: without a credential. READY or
 * FAILED comes later. NULL when it cannot even be tried. */
struct upstream *upstream_get(struct upstream_pool *pool,
			      const struct target *target, struct bytes binding,
			      upstream_fn *fn, void *owner, struct err *err);

/* The same without a credential, offering HTTP/2 to an origin with TLS: for
 * clients that speak it themselves, so that gRPC works from end to end. The
 * exchanges with one origin share a connection then. Who is_wide lets upstream
 * send much ahead of being read. */
struct upstream *upstream_get_h2(struct upstream_pool *pool,
				 const struct target *target, bool is_wide,
				 upstream_fn *fn, void *owner, struct err *err);
/* The same with a credential, for a request whose response ends with trailers
 * (request_wants_trailers()): an exchange alone on its connection. */
struct upstream *upstream_get_leg_h2(struct upstream_pool *pool,
				     const struct target *target,
				     struct bytes binding, upstream_fn *fn,
				     void *owner, struct err *err);
/* The trailers that pass (gateway/http/trailers.h) of a response over HTTP/2;
 * none for others. At END; views until the put. */
struct fields upstream_trailers(struct upstream *up);

/* Send the head of a request: after READY, once. has_body says whether
 * upstream_body_end() will come; framing is the request's. 0, or -1. 0 also
 * when the connection turns out to be dead: FAILED then comes later. */
int upstream_send(struct upstream *up, const struct request *request,
		  const struct upstream_labels *labels, struct err *err);
/* Did the request go out? Only then may upstream have acted on it. */
bool upstream_is_sent(const struct upstream *up);
/* Send a push: only with a binding. The body is the pack. 0, or -1, as
 * above. */
int upstream_send_push(struct upstream *up, const struct leg_push *push,
		       struct err *err);
/* Send bytes of the body, all of them queued. 0, or -1 (then put it). 0 also
 * when the connection turns out to be dead: FAILED, or what upstream said
 * before it closed, then comes later. */
int upstream_body(struct upstream *up, struct bytes bytes);
int upstream_body_end(struct upstream *up);
/* Must the body pause until UPSTREAM_DRAINED? */
bool upstream_is_full(const struct upstream *up);

/* Valid from HEAD to the put. Fields may be edited in place. */
struct response *upstream_response(struct upstream *up);
struct bytes upstream_span(const struct upstream *up);
void upstream_pause(struct upstream *up);
void upstream_resume(struct upstream *up);

struct upstream_fault {
	enum constraint constraint;
	const char *detail;
};
struct upstream_fault upstream_fault(const struct upstream *up);
/* Did it fail because a kept connection was closed by the other side before
 * it said a word about this request? Then a request that may be repeated
 * can be, on another one. */
bool upstream_was_stale(const struct upstream *up);
/* What was dialled, "" if nothing was. */
const char *upstream_address(const struct upstream *up);

/* Done with it: kept for the next exchange when this one ended in order,
 * else closed. */
void upstream_put(struct upstream *up);

/* Close every idle connection (session end). */
void upstream_pool_release(struct upstream_pool *pool);

#endif
