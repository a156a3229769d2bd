/*
 * WebSocket frames, from a client or a server as the first byte says, whole
 * and in pieces: the same is told, within its bounds.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "gateway/websocket/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_MAX 4096

/* What was told, in one number. */
struct run {
	uint64_t told;
	size_t count;
	bool is_over;
};

static void add(struct run *run, uint64_t value)
{
	run->told = run->told * 1099511628211u ^ value;
}

static void add_bytes(struct run *run, struct bytes bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		add(run, bytes.data[i]);
}

static void check(struct run *run, const struct websocket_end *end,
		  enum websocket_result result)
{
	struct bytes message = buf_view(&end->message);

	run->count++;
	add(run, result);
	if (result == WEBSOCKET_MESSAGE) {
		assert(message.len <= MESSAGE_MAX);
		assert(end->opcode != WEBSOCKET_TEXT ||
		       utf8_valid_len(message) == message.len);
		add_bytes(run, message);
	} else if (result == WEBSOCKET_INVALID) {
		assert(end->code && end->reason);
		add(run, end->code);
		run->is_over = true;
	} else {
		assert(end->control.len <= WEBSOCKET_CONTROL_MAX);
		add_bytes(run, end->control);
		run->is_over = result == WEBSOCKET_CLOSE;
	}
}

static struct run play(enum websocket_side side, struct bytes all, size_t step)
{
	struct run run = {0};
	struct websocket_end end;

	if (websocket_end_init(&end, side, MESSAGE_MAX) < 0)
		abort();
	for (size_t at = 0; at < all.len && !run.is_over; at += step) {
		struct bytes input = bytes_slice(all, at, at + step);
		enum websocket_result result;

		while (!run.is_over && (result = websocket_take(&end, &input)))
			check(&run, &end, result);
	}
	websocket_end_release(&end);
	return run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum websocket_side side;
	struct run pieces, whole;
	struct bytes all;

	if (size < 2)
		return 0;
	side = data[0] % 2 ? WEBSOCKET_SERVER : WEBSOCKET_CLIENT;
	all = bytes_slice(bytes_from(data, size), 1, size);
	pieces = play(side, all, 1);
	whole = play(side, all, all.len);
	assert(pieces.count == whole.count && pieces.told == whole.told);
	return 0;
}
