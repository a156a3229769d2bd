#include "gateway/flow/frames.h"

static void put_u32(uint8_t out[4], uint32_t number)
{
	out[0] = (uint8_t)(number >> 24);
	out[1] = (uint8_t)(number >> 16);
	out[2] = (uint8_t)(number >> 8);
	out[3] = (uint8_t)number;
}

int frame_add(struct buf *out, const struct frame *frame)
{
	size_t len = frame->payload.len;
	uint8_t *room = NULL;

	if (len <= FRAME_PAYLOAD_MAX && FRAME_HEADER + len <= buf_room(out))
		room = buf_reserve(out, FRAME_HEADER + len);
	if (!room)
		return -1;
	put_u32(room, (uint32_t)(len << 8 | frame->type));
	room[4] = frame->flags;
	put_u32(room + 5, frame->stream);
	if (len > 0)
		memcpy(room + FRAME_HEADER, frame->payload.data, len);
	buf_commit(out, FRAME_HEADER + len);
	return 0;
}

int frame_add_u32(struct buf *out, const struct frame *frame, uint32_t number)
{
	struct frame whole = *frame;
	uint8_t bytes[4];

	put_u32(bytes, number);
	whole.payload = bytes_from(bytes, sizeof(bytes));
	return frame_add(out, &whole);
}

uint32_t frame_u32(struct bytes payload)
{
	const uint8_t *data = payload.data;

	return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 |
	       (uint32_t)data[2] << 8 | data[3];
}

int frame_next(struct bytes input, struct frame *frame, size_t *used)
{
	size_t len;

	if (input.len < FRAME_HEADER)
		return 0;
	len = frame_u32(input) >> 8;
	if (len > FRAME_PAYLOAD_MAX)
		return -1;
	if (input.len < FRAME_HEADER + len)
		return 0;
	frame->type = input.data[3];
	frame->flags = input.data[4];
	frame->stream = frame_u32(bytes_slice(input, 5, FRAME_HEADER));
	frame->payload = bytes_slice(input, FRAME_HEADER, FRAME_HEADER + len);
	*used = FRAME_HEADER + len;
	return 1;
}
