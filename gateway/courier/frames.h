/*
 * What a framer may say (gateway/flow/frames.h), as bytes in and steps out.
 * The framer decodes what upstream sends, and so it is untrusted: of what it
 * writes nothing reaches upstream but frames of five kinds that carry no
 * request, each of its fixed shape, about the streams that there are. The head
 * and the body of a request are the courier's: the framer says when, and how
 * much, and never what.
 *
 *	frames_ask(&frames, has_body);
 *	frames_give(&frames, len)...; frames_end(&frames);
 *	switch (frames_next(&frames, input, &frame, &used)) ...
 */
#ifndef GATEWAY_COURIER_FRAMES_H
#define GATEWAY_COURIER_FRAMES_H

#include "gateway/flow/frames.h"

/* A SETTINGS frame of ours, and what a GOAWAY of ours may say. */
#define FRAMES_SETTINGS_MAX 60
#define FRAMES_GOAWAY_MAX   256

enum frames_step {
	FRAMES_MORE,   /* wait for the rest of it */
	FRAMES_PASS,   /* the whole frame goes upstream */
	FRAMES_HEAD,   /* the request's head goes upstream */
	FRAMES_BODY,   /* so much of its body: frame_u32(), FRAME_FLAG_END */
	FRAMES_SAID,   /* the payload is the response's */
	FRAMES_OVER,   /* the response is complete */
	FRAMES_FAULT,  /* it goes no further: the payload's byte says why */
	FRAMES_IGNORE, /* about a request that is over */
	FRAMES_BROKEN  /* no framer says this */
};

struct frames {
	uint32_t stream; /* of the request at hand; 0: there was none */
	bool has_settings;
	bool is_head_due; /* it did not go out yet */
	bool is_body_due; /* its end did not */
	bool is_body_whole;
	bool is_response_due;
	uint64_t body_left; /* given, and not gone out */
};

/* Zeroed memory is a connection without a request. */

/* Another request, after the one before was answered. 0, or -1: there were so
 * many that the connection has no stream for it. */
int frames_ask(struct frames *frames, bool has_body);
/* So many more bytes of its body are there; there are no more. */
void frames_give(struct frames *frames, size_t len);
void frames_end(struct frames *frames);

/* Look at the front of input (untrusted): but for MORE and BROKEN, *frame
 * borrows from it, and *used are its bytes. */
enum frames_step frames_next(struct frames *frames, struct bytes input,
			     struct frame *frame, size_t *used);

#endif
