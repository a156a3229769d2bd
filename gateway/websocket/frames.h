/*
 * WebSocket frames (RFC 6455 section 5), read by wslay and written by it
 * again: no frame goes on as it came. One struct stands for the other side
 * of one connection: what it sends is read with websocket_take(), what it
 * gets is written with websocket_write(). Data messages are held whole.
 *
 *	websocket_end_init(&end, WEBSOCKET_CLIENT, message_max)
 *	while ((result = websocket_take(&end, &input)) != WEBSOCKET_MORE) ...
 *	websocket_write(&other, WEBSOCKET_TEXT, true, bytes, out)
 *	websocket_end_release(&end)
 *
 * Refused: extensions' bits, unknown opcodes, a client's frame that is not
 * masked and a server's that is, control frames that are long or in pieces,
 * pieces out of order, text that is not UTF-8, messages larger than
 * message_max or in more than WEBSOCKET_FRAGMENTS_MAX pieces.
 */
#ifndef GATEWAY_WEBSOCKET_FRAMES_H
#define GATEWAY_WEBSOCKET_FRAMES_H

#include "common/buf.h"
#include "common/err.h"
#include "gateway/flow/limits.h"

#define WEBSOCKET_CONTROL_MAX 125

enum websocket_side {
	WEBSOCKET_CLIENT, /* it masks, we do not */
	WEBSOCKET_SERVER  /* we mask, it does not */
};

/* RFC 6455 7.4.1 */
enum websocket_code {
	WEBSOCKET_NO_CODE = 0, /* a close frame without one */
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_AWAY = 1001,
	WEBSOCKET_PROTOCOL_ERROR = 1002,
	WEBSOCKET_NOT_TEXT = 1007,
	WEBSOCKET_POLICY = 1008,
	WEBSOCKET_TOO_BIG = 1009,
	WEBSOCKET_LATER = 1013
};

enum websocket_opcode {
	WEBSOCKET_CONTINUATION = 0x0,
	WEBSOCKET_TEXT = 0x1,
	WEBSOCKET_BINARY = 0x2,
	WEBSOCKET_OP_CLOSE = 0x8,
	WEBSOCKET_OP_PING = 0x9,
	WEBSOCKET_OP_PONG = 0xa
};

enum websocket_result {
	WEBSOCKET_MORE,
	WEBSOCKET_MESSAGE, /* end->message, of end->opcode */
	WEBSOCKET_PING,	   /* end->control */
	WEBSOCKET_PONG,	   /* likewise */
	WEBSOCKET_CLOSE,   /* end->code; end->control is its reason */
	WEBSOCKET_INVALID  /* end->code to close with, end->reason; the last */
};

struct wslay_frame_context;

struct websocket_end {
	struct wslay_frame_context *frames;
	enum websocket_side side;
	struct bytes input;	      /* while reading */
	struct buf *out;	      /* while writing */
	struct buf message;	      /* what was read of a data message */
	enum websocket_opcode opcode; /* of the message */
	bool in_message;	      /* its last piece did not come yet */
	bool is_taken;		      /* it was told: forget it next */
	unsigned fragments;
	bool in_frame;
	uint64_t frame_got;
	uint8_t control_bytes[WEBSOCKET_CONTROL_MAX];
	struct bytes control;
	uint16_t code;
	const char *reason; /* a literal */
};

/* 0, or -1 when memory is out. */
int websocket_end_init(struct websocket_end *end, enum websocket_side side,
		       size_t message_max);
void websocket_end_release(struct websocket_end *end);

/* Read from *input (untrusted) up to the next thing to tell; all of it is
 * consumed when the answer is MORE. What is told is valid until the next
 * call. */
enum websocket_result websocket_take(struct websocket_end *end,
				     struct bytes *input);

/* Append a frame to out. 0, or -1 when out has no room. */
int websocket_write(struct websocket_end *end, enum websocket_opcode opcode,
		    bool is_last, struct bytes payload, struct buf *out);
/* A close frame; reason (UTF-8) is cut at its bound. */
int websocket_write_close(struct websocket_end *end, uint16_t code,
			  struct bytes reason, struct buf *out);

#endif
