/*
 * Bytes of an untrusted upstream at a framer's connection that was asked one
 * thing. The first byte says in which pieces they come, and whether the request
 * has a body. Whatever comes: the courier gets frames that it may get, and the
 * connection ends with upstream.
 */
#include <assert.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "gateway/courier/frames.h"
#include "gateway/framer/framer.h"

#define SETTINGS "\0\0\0\4\0\0\0\0\0"

static void tell(int fd, enum frame_type type, struct bytes payload)
{
	const struct frame frame = {(uint8_t)type, 0, 1, payload};
	auto_type(buf_release) struct buf out;

	buf_init(&out, FRAME_HEADER + FRAME_PAYLOAD_MAX);
	assert(frame_add(&out, &frame) == 0);
	fake_send(fd, buf_view(&out));
}

static void tell_wire(int fd, struct bytes bytes)
{
	while (bytes.len > 0) {
		struct bytes piece = bytes_slice(bytes, 0, FRAME_PAYLOAD_MAX);

		tell(fd, FRAME_WIRE, piece);
		bytes = bytes_slice(bytes, piece.len, bytes.len);
	}
}

/* What the courier would make of it. */
static void check(int fd, bool has_body)
{
	struct buf *got = fake_received(fd);
	struct frames frames = {0};
	struct frame frame;
	enum frames_step step;
	size_t used;

	assert(frames_ask(&frames, has_body) == 0);
	frames_give(&frames, 5);
	frames_end(&frames);
	while ((step = frames_next(&frames, buf_view(got), &frame, &used)) !=
	       FRAMES_MORE) {
		assert(step != FRAMES_BROKEN || frame.stream % 2 == 0);
		if (step == FRAMES_BROKEN)
			return;
		buf_consume(got, used);
	}
	assert(buf_len(got) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct io_loop *loop = io_loop_new(NULL);
	struct keeper keeper = {.loop = loop};
	struct framer framer = {.keeper = &keeper};
	uint8_t how = size > 0 && data[0] & 1 ? ASK_HAS_BODY : 0;
	struct err err;
	int fds[2];

	fake_stream_pair(fds);
	if (size > 0)
		fake_set_chunk(fds[0], data[0] / 8);
	assert(connection_open(&framer, fds[0], &err) == 0);
	tell(fds[1], FRAME_ASK, bytes_from(&how, 1));
	tell(fds[1], FRAME_MORE, bytes_from("\0\0\0\5", 4));
	tell(fds[1], FRAME_LAST, bytes_from(NULL, 0));
	tell_wire(fds[1], bytes_from(SETTINGS, sizeof(SETTINGS) - 1));
	fake_run(loop);
	if (size > 0)
		tell_wire(fds[1], bytes_from(data + 1, size - 1));
	tell(fds[1], FRAME_EOF, bytes_from(NULL, 0));
	fake_run(loop);
	check(fds[1], how);
	fake_end(fds[1]);
	fake_run(loop);
	fake_advance(loop, 10000);
	assert(framer.count == 0);
	io_loop_free(loop);
	fake_reset_all();
	return 0;
}
