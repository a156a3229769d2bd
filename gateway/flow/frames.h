/*
 * What the courier and a framer say to each other about one connection that
 * speaks HTTP/2 (RFC 9113) and carries a credential: the courier has the TLS
 * and writes the request's head and body, the framer decodes what upstream
 * sends and says when what may go. Each frame has the shape of HTTP/2's own
 * (4.1: u24 length, u8 type, u8 flags, u32 stream, big-endian, payload), of
 * those types that pass to upstream as they are, and of some of our own.
 *
 *	courier				framer
 *	  WIRE bytes of upstream  ->
 *	  ASK, MORE..., LAST	  ->
 *				  <-  SETTINGS, PING, WINDOW_UPDATE...
 *				  <-  HEAD, BODY: those of the request
 *				  <-  SAID: the response, as HTTP/1.1
 *	  TAKEN			  ->
 *				  <-  OVER, or FAULT
 *
 * Requests follow each other, on the streams 1, 3, 5 and so on. Which frame may
 * stand where is gateway/courier/frames.h's to say: the framer is untrusted.
 */
#ifndef GATEWAY_FLOW_FRAMES_H
#define GATEWAY_FLOW_FRAMES_H

#include "common/buf.h"

#define FRAME_HEADER	  9
#define FRAME_PAYLOAD_MAX 16384 /* RFC 9113 6.5.2: what anybody takes */
#define FRAME_FLAG_END	  0x1	/* END_STREAM, or ACK */
#define FRAME_FLAG_HEAD	  0x4	/* END_HEADERS */
#define FRAME_STREAM_MAX  0x7fffffffu

enum frame_type {
	FRAME_DATA = 0x0,
	FRAME_HEADERS = 0x1,
	FRAME_RST_STREAM = 0x3,
	FRAME_SETTINGS = 0x4,
	FRAME_PING = 0x6,
	FRAME_GOAWAY = 0x7,
	FRAME_WINDOW_UPDATE = 0x8,
	FRAME_CONTINUATION = 0x9,
	/* of the courier */
	FRAME_WIRE = 0xe0, /* bytes of upstream */
	FRAME_EOF,	   /* upstream sends no more */
	FRAME_ASK,	   /* the next request; u8: enum frame_ask, or'ed */
	FRAME_MORE,	   /* u32: so many more bytes of its body are there */
	FRAME_LAST,	   /* and no more */
	FRAME_TAKEN,	   /* u32: bytes of the response that were passed on */
	/* of the framer */
	FRAME_HEAD = 0xf0, /* the request's head may go */
	FRAME_BODY,	   /* u32: so much of its body, in one frame; END */
	FRAME_SAID,	   /* bytes of the response */
	FRAME_OVER,	   /* it is complete */
	FRAME_FAULT,	   /* u8: enum frame_fault; it goes no further */
};

enum frame_ask { ASK_HAS_BODY = 1, ASK_IS_HEAD = 2 };

enum frame_fault {
	FAULT_CLOSED,	 /* upstream ended the stream, or all of them */
	FAULT_MALFORMED, /* what it says is not strict */
	FAULT_MAX
};

/* So much of a response may be on its way, until it is taken. */
#define FRAMES_SAID_MAX (256 * 1024)

struct frame {
	uint8_t type;
	uint8_t flags;
	uint32_t stream;
	struct bytes payload;
};

/* Append a frame; its payload has FRAME_PAYLOAD_MAX bytes at most. 0, or -1
 * when out has no room. */
int frame_add(struct buf *out, const struct frame *frame);
/* The same of a payload that is one number. */
int frame_add_u32(struct buf *out, const struct frame *frame, uint32_t number);

/* Look at the front of input (untrusted). 1: a whole frame, whose payload
 * borrows, *used with its header; 0: more is needed; -1: it is too long. */
int frame_next(struct bytes input, struct frame *frame, size_t *used);

/* A payload of four bytes (RFC 9113: big-endian). */
uint32_t frame_u32(struct bytes payload);

#endif
