/*
 * Bytes of an untrusted HTTP/2 client behind its preface: whatever comes, a
 * stream is a request whose head the guard takes whole, or a fault. Each is
 * answered. The first byte says in which pieces the bytes arrive.
 */
#include <assert.h>

#include "common/io_fake.h"
#include "gateway/h2/h2.h"
#include "gateway/http/guard.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define ANSWER	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define SWITCHES                                                               \
	"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"          \
	"Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhello"
#define EMPTY "\0\0\0\4\0\0\0\0\0" /* SETTINGS */

static const struct io_limits limits = {65536, 65536, 1 << 20};
static const struct h2_stream_limits stream_limits = {
	.wide = {65536, 65536, 1 << 20},
	.narrow = {65536, 8192, 1 << 20},
};
static struct h2_session *session;

/* Who asks for a WebSocket gets one, or what is none: an answer of 200 must
 * not pass for it. */
static void answer(struct io *io)
{
	struct bytes head = buf_view(io_in(io));
	bool asks =
		bytes_find_bytes(head, bytes_str("upgrade: websocket"), 0) >= 0;
	bool gets = asks && head.len % 4 != 0;

	(void)io_write(io, bytes_str(gets ? SWITCHES : ANSWER));
}

static void on_lane(struct io *io, enum io_event event, void *owner)
{
	struct guard guard;
	size_t len;

	(void)owner;
	if (event == IO_DATA && io_out_len(io) == 0) {
		guard_init(&guard, GUARD_REQUEST);
		/* Never half a head: it is written at once. */
		if (guard_scan(&guard, buf_view(io_in(io)), &len) ==
		    GUARD_COMPLETE)
			answer(io);
	}
	if (event == IO_DATA)
		buf_clear(io_in(io));
	if (event == IO_EOF || event == IO_FAILED)
		io_close(io);
}

static int on_stream(void *owner, struct io *io, bool is_wide,
		     const struct http_fault *fault)
{
	(void)owner;
	(void)is_wide;
	assert(!fault ||
	       (fault->constraint != CONSTRAINT_none && fault->reason != NULL));
	io_set_owner(io, on_lane, NULL);
	io_read_start(io);
	if (fault)
		(void)io_write(io, bytes_str(ANSWER));
	return 0;
}

static void on_moved(void *owner)
{
	(void)owner;
}

static void on_client(struct io *io, enum io_event event, void *owner)
{
	(void)owner;
	if (event == IO_DATA && session)
		h2_session_receive(session);
	if (event == IO_DRAINED && session)
		h2_session_drained(session);
	if (event == IO_FAILED)
		io_close(io);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct h2_events events = {
		.on_stream = on_stream,
		.on_moved = on_moved,
	};
	struct io_loop *loop = io_loop_new(NULL);
	struct bytes input = bytes_from(data, size);
	struct io *io;
	int fds[2];

	fake_stream_pair(fds);
	if (input.len > 0) {
		fake_set_chunk(fds[1], input.data[0] / 8);
		input = bytes_slice(input, 1, input.len);
	}
	io = io_new(loop, fds[0], &limits, on_client, NULL);
	session = h2_server_new(loop, io, &stream_limits, &events, NULL);
	assert(session);
	io_read_start(io);
	fake_send(fds[1], bytes_from(PREFACE EMPTY, sizeof(PREFACE EMPTY) - 1));
	fake_send(fds[1], input);
	fake_run(loop);
	fake_end(fds[1]);
	fake_run(loop);
	assert(h2_session_streams(session) <= H2_STREAMS_MAX);
	h2_session_free(session);
	session = NULL;
	fake_run(loop);
	io_loop_free(loop);
	fake_reset_all();
	return 0;
}
