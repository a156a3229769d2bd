/*
 * What is said to the operator's upstream proxy before a connection is one
 * to its target, as bytes in and bytes out: CONNECT (RFC 9110 9.3.6), or
 * SOCKS 5 (RFC 1928) with user and password (RFC 1929). What the proxy
 * answers is untrusted: it must be exactly what the protocol asks for, and
 * nothing may follow it, since the descriptor alone is given back.
 */
#ifndef GATEWAY_COURIER_PROXY_TALK_H
#define GATEWAY_COURIER_PROXY_TALK_H

#include "common/buf.h"
#include "gateway/flow/config.h"
#include "gateway/http/guard.h"

#define PROXY_ANSWER_MAX HEAD_BYTES_MAX
#define PROXY_SAY_MAX	 (8 * 1024)

enum proxy_step {
	PROXY_MORE, /* wait for more of the answer */
	PROXY_SAY,  /* out has what is to be sent next */
	PROXY_DONE, /* the connection is the target's */
	PROXY_FAILED
};

struct proxy_talk {
	enum proxy_kind kind;
	struct bytes host; /* canonical name or address */
	uint16_t port;
	struct bytes secret; /* "user:password", or empty; borrowed */
	struct guard guard;  /* of a CONNECT's answer */
	unsigned state;	     /* proxy_talk.c */
};

/* Begin: what is said first goes to out (which may hold the secret: wiped
 * by the caller). 0, or -1 with *err: the secret has no such form. */
int proxy_talk_begin(struct proxy_talk *talk, struct buf *out, struct err *err);
/* Read what the proxy answered (untrusted) so far; whole answers are
 * consumed. FAILED: *err says why, in our words. */
enum proxy_step proxy_talk_read(struct proxy_talk *talk, struct buf *in,
				struct buf *out, struct err *err);

#endif
