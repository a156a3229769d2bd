/*
 * A leg whose upstream speaks HTTP/2. Its bytes are decoded by a framer
 * (framers.c), a process that holds no secret, which gives the response back
 * as HTTP/1.1: from there on it is searched and passed on like any other.
 * Nothing of upstream's is read here, and what the framer writes is held to
 * a few fixed shapes (frames.h).
 *
 *	opened, ALPN says h2:	h2_begin(), then leg_stands() or
 *				leg_fail_opening()
 *	a request:		h2_ask(), h2_body()..., h2_body_end()
 *	upstream's bytes:	h2_on_upstream(), to the framer
 *	the framer's:		SAID -> pass_back(), HEAD and BODY -> upstream
 */
#ifndef GATEWAY_COURIER_H2_H
#define GATEWAY_COURIER_H2_H

#include "gateway/courier/courier.h"
#include "gateway/courier/frames.h"

/* Of one session at a time; the warden has bounds as well. */
#define FRAMER_START_MS 10000
/* Of a body's bytes that wait for upstream's window: from HIGH on the edge
 * waits. What one frame of it makes, with a secret in it, fits above. */
#define H2_BODY_HIGH   (128 * 1024)
#define H2_BODY_MAX    (2 * 1024 * 1024)
#define H2_TAKEN_LEAST (32 * 1024) /* that is told at once */
#define H2_HEAD_MAX    (2 * LEG_HEAD_MAX)

struct leg_h2 {
	struct io *io; /* to the framer; NULL until it is there */
	struct frames frames;
	struct buf head; /* HEADERS, with the credential, until they may go */
	struct buf body;
	struct buf said; /* by upstream, in HTTP/1.1 */
	size_t taken;	 /* of it, and not told to the framer */
	bool is_upstream_over;
	bool has_told; /* the framer, that it is */
};

/* The TLS stands and chose HTTP/2. 0, or -1 with *err. */
int h2_begin(struct leg *leg, struct err *err);
/* The framer is there: give it a channel. */
void h2_stand(struct leg *leg, struct rpc *framer);
/* Forget it. Its io is closed, and released later. */
void h2_close(struct leg *leg);
void h2_free(struct leg_h2 *h2);

void h2_on_upstream(struct leg *leg, enum io_event event);

/* Ask with this head (HTTP/1.1, of request.c), once upstream takes it. 0, or
 * -1. */
int h2_ask(struct leg *leg, struct bytes head, struct err *err);
/* The next bytes of the body; its end. 0, or -1. */
int h2_body(struct leg *leg, struct bytes bytes);
int h2_body_end(struct leg *leg);
/* Must the edge wait? */
bool h2_is_full(const struct leg *leg);

/* So much of what was said has been passed on. */
void h2_taken(struct leg *leg, size_t len);
/* The edge takes more. */
void h2_resume(struct leg *leg);

/* ---- framers.c ---- */

/* Have a framer for the leg, one for all legs with the same credential of a
 * session to the same host: h2_stand() or leg_fail_opening() comes later, or
 * at once. 0, or -1 with *err. */
int framers_join(struct leg *leg, struct err *err);
/* The leg needs it no more. The last one ends the process. */
void framers_leave(struct leg *leg);

#endif
