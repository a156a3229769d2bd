#include "gateway/websocket/frames.h"

#include <string.h>
#include <wslay/wslay.h>

#include "common/digest.h"
#include "common/utf8.h"

#define REASON_MAX (WEBSOCKET_CONTROL_MAX - 2)

/* ---- wslay's way to bytes ---- */

static ssize_t give(uint8_t *out, size_t len, int flags, void *owner)
{
	struct websocket_end *end = owner;
	struct bytes part = bytes_slice(end->input, 0, len);

	(void)flags;
	if (part.len == 0)
		return -1;
	memcpy(out, part.data, part.len);
	end->input = bytes_slice(end->input, part.len, end->input.len);
	return (ssize_t)part.len;
}

static ssize_t take_written(const uint8_t *data, size_t len, int flags,
			    void *owner)
{
	struct websocket_end *end = owner;

	(void)flags;
	return buf_add(end->out, bytes_from(data, len)) < 0 ? -1 : (ssize_t)len;
}

static int make_mask(uint8_t *out, size_t len, void *owner)
{
	(void)owner;
	random_bytes(out, len);
	return 0;
}

int websocket_end_init(struct websocket_end *end, enum websocket_side side,
		       size_t message_max)
{
	static const struct wslay_frame_callbacks callbacks = {
		.send_callback = take_written,
		.recv_callback = give,
		.genmask_callback = make_mask,
	};

	*end = (struct websocket_end){.side = side};
	buf_init(&end->message, message_max);
	return wslay_frame_context_init(&end->frames, &callbacks, end) ? -1 : 0;
}

void websocket_end_release(struct websocket_end *end)
{
	if (end->frames)
		wslay_frame_context_free(end->frames);
	end->frames = NULL;
	buf_release(&end->message);
}

/* ---- reading ---- */

static enum websocket_result invalid(struct websocket_end *end, uint16_t code,
				     const char *reason)
{
	end->code = code;
	end->reason = reason;
	return WEBSOCKET_INVALID;
}

static enum websocket_result protocol_error(struct websocket_end *end,
					    const char *reason)
{
	return invalid(end, WEBSOCKET_PROTOCOL_ERROR, reason);
}

/* A data frame begins. */
static enum websocket_result begin_data(struct websocket_end *end,
					const struct wslay_frame_iocb *frame)
{
	bool continues = frame->opcode == WSLAY_CONTINUATION_FRAME;

	if (continues != end->in_message)
		return protocol_error(end, "a message's pieces are mixed up");
	if (!continues) {
		end->opcode = (enum websocket_opcode)frame->opcode;
		end->fragments = 0;
	}
	end->in_message = true;
	if (++end->fragments > WEBSOCKET_FRAGMENTS_MAX)
		return invalid(end, WEBSOCKET_POLICY,
			       "a message has too many pieces");
	if (frame->payload_length > buf_room(&end->message))
		return invalid(end, WEBSOCKET_TOO_BIG,
			       "a message is larger than its limit");
	return WEBSOCKET_MORE;
}

static enum websocket_result begin_frame(struct websocket_end *end,
					 const struct wslay_frame_iocb *frame)
{
	end->in_frame = true;
	end->frame_got = 0;
	if (frame->rsv != 0)
		return protocol_error(end, "no extension was agreed on");
	if (!frame->mask != (end->side == WEBSOCKET_SERVER))
		return protocol_error(end, "a frame's mask is not as it must");
	switch (frame->opcode) {
	case WSLAY_CONTINUATION_FRAME:
	case WSLAY_TEXT_FRAME:
	case WSLAY_BINARY_FRAME:
		return begin_data(end, frame);
	case WSLAY_CONNECTION_CLOSE:
	case WSLAY_PING:
	case WSLAY_PONG:
		return WEBSOCKET_MORE;
	default:
		return protocol_error(end, "a frame's kind is unknown");
	}
}

static bool is_code(unsigned code)
{
	return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 &&
		code != 1006) ||
	       (code >= 3000 && code <= 4999);
}

static enum websocket_result take_close(struct websocket_end *end)
{
	struct bytes control = end->control;

	end->code = WEBSOCKET_NO_CODE;
	if (control.len == 0)
		return WEBSOCKET_CLOSE;
	if (control.len == 1)
		return protocol_error(end, "a close frame has half a code");
	end->code = (uint16_t)(control.data[0] << 8 | control.data[1]);
	end->control = bytes_slice(control, 2, control.len);
	if (!is_code(end->code))
		return protocol_error(end, "a close frame has no known code");
	if (utf8_valid_len(end->control) != end->control.len)
		return invalid(end, WEBSOCKET_NOT_TEXT,
			       "a close frame's reason is not UTF-8");
	return WEBSOCKET_CLOSE;
}

static enum websocket_result end_message(struct websocket_end *end)
{
	struct bytes message = buf_view(&end->message);

	end->in_message = false;
	if (end->opcode == WEBSOCKET_TEXT &&
	    utf8_valid_len(message) != message.len)
		return invalid(end, WEBSOCKET_NOT_TEXT,
			       "a text message is not UTF-8");
	end->is_taken = true;
	return WEBSOCKET_MESSAGE;
}

static enum websocket_result end_frame(struct websocket_end *end,
				       const struct wslay_frame_iocb *frame)
{
	end->in_frame = false;
	end->control = bytes_from(end->control_bytes, (size_t)end->frame_got);
	if (frame->opcode == WSLAY_CONNECTION_CLOSE)
		return take_close(end);
	if (frame->opcode == WSLAY_PING)
		return WEBSOCKET_PING;
	if (frame->opcode == WSLAY_PONG)
		return WEBSOCKET_PONG;
	return frame->fin ? end_message(end) : WEBSOCKET_MORE;
}

static int keep(struct websocket_end *end, const struct wslay_frame_iocb *frame)
{
	struct bytes part = bytes_from(frame->data, frame->data_length);

	if (!wslay_is_ctrl_frame(frame->opcode))
		return buf_add(&end->message, part);
	if (part.len > sizeof(end->control_bytes) - end->frame_got)
		return -1;
	memcpy(end->control_bytes + end->frame_got, part.data, part.len);
	return 0;
}

/* A part of a frame, with its head at first. */
static enum websocket_result take_part(struct websocket_end *end,
				       const struct wslay_frame_iocb *frame)
{
	enum websocket_result result = WEBSOCKET_MORE;

	if (!end->in_frame)
		result = begin_frame(end, frame);
	if (result != WEBSOCKET_MORE)
		return result;
	if (frame->data_length && keep(end, frame) < 0)
		return invalid(end, WEBSOCKET_LATER, "memory is out");
	end->frame_got += frame->data_length;
	return end->frame_got == frame->payload_length ? end_frame(end, frame)
						       : WEBSOCKET_MORE;
}

enum websocket_result websocket_take(struct websocket_end *end,
				     struct bytes *input)
{
	enum websocket_result result = WEBSOCKET_MORE;
	ssize_t got = 0;

	if (end->is_taken) {
		buf_release(&end->message);
		end->is_taken = false;
	}
	end->input = *input;
	while (result == WEBSOCKET_MORE) {
		struct wslay_frame_iocb frame = {0};

		got = wslay_frame_recv(end->frames, &frame);
		if (got < 0)
			break;
		result = take_part(end, &frame);
	}
	*input = end->input;
	end->input = bytes_from(NULL, 0);
	if (got < 0 && got != WSLAY_ERR_WANT_READ)
		return protocol_error(end, "a frame is malformed");
	return result;
}

/* ---- writing ---- */

int websocket_write(struct websocket_end *end, enum websocket_opcode opcode,
		    bool is_last, struct bytes payload, struct buf *out)
{
	struct wslay_frame_iocb frame = {
		.fin = is_last,
		.opcode = (uint8_t)opcode,
		.payload_length = payload.len,
		.mask = end->side == WEBSOCKET_SERVER,
		.data = payload.data,
		.data_length = payload.len,
	};
	ssize_t sent;

	end->out = out;
	do {
		sent = wslay_frame_send(end->frames, &frame);
		if (sent > 0) {
			frame.data += sent;
			frame.data_length -= (size_t)sent;
		}
	} while (sent > 0 && frame.data_length > 0);
	end->out = NULL;
	return sent < 0 ? -1 : 0;
}

int websocket_write_close(struct websocket_end *end, uint16_t code,
			  struct bytes reason, struct buf *out)
{
	uint8_t payload[WEBSOCKET_CONTROL_MAX] = {(uint8_t)(code >> 8),
						  (uint8_t)code};
	size_t len = reason.len;

	if (code == WEBSOCKET_NO_CODE)
		return websocket_write(end, WEBSOCKET_OP_CLOSE, true,
				       bytes_from(NULL, 0), out);
	if (len > REASON_MAX)
		len = utf8_valid_len(bytes_slice(reason, 0, REASON_MAX));
	if (len)
		memcpy(payload + 2, reason.data, len);
	return websocket_write(end, WEBSOCKET_OP_CLOSE, true,
			       bytes_from(payload, len + 2), out);
}
