/*
 * Bytes of an untrusted HTTP/2 upstream that was asked one thing: what comes
 * out is HTTP/1.1 in order, or a failure. The first byte says in which
 * pieces the bytes arrive, and whether they come before the question.
 */
#include <assert.h>

#include "common/io_fake.h"
#include "gateway/h2/h2.h"
#include "gateway/http/guard.h"

#define ASK   "GET /x HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\n\r\n"
#define EMPTY "\0\0\0\4\0\0\0\0\0" /* SETTINGS */

static const struct io_limits limits = {1 << 20, 65536, 1 << 20};
static struct h2_session *session;
static bool is_open;

/* The guard may refuse a head; it never sees half a line of one. */
static void on_answer(struct io *io, enum io_event event, void *owner)
{
	struct guard guard;
	size_t len;

	(void)owner;
	if (event == IO_DATA) {
		guard_init(&guard, GUARD_RESPONSE);
		assert(guard_scan(&guard, buf_view(io_in(io)), &len) !=
		       GUARD_MORE);
	}
	if (event == IO_EOF || event == IO_FAILED)
		io_close(io);
	if (event == IO_RELEASED)
		is_open = false;
}

static void on_moved(void *owner)
{
	(void)owner;
}

static void on_upstream(struct io *io, enum io_event event, void *owner)
{
	(void)owner;
	if (event == IO_DATA && session)
		h2_session_receive(session);
	if (event == IO_FAILED)
		io_close(io);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct h2_events events = {.on_moved = on_moved};
	struct io_loop *loop = io_loop_new(NULL);
	struct bytes input = bytes_from(data, size);
	struct io *io, *near;
	bool is_early = input.len > 0 && input.data[0] & 1;
	int fds[2];

	fake_stream_pair(fds);
	if (input.len > 0) {
		fake_set_chunk(fds[1], input.data[0] / 8);
		input = bytes_slice(input, 1, input.len);
	}
	io = io_new(loop, fds[0], &limits, on_upstream, NULL);
	session = h2_client_new(loop, io, &events, NULL);
	assert(session);
	io_read_start(io);
	near = h2_client_open(session, &limits, true);
	assert(near);
	is_open = true;
	io_set_owner(near, on_answer, NULL);
	io_read_start(near);
	if (!is_early)
		(void)io_write(near, bytes_str(ASK));
	fake_run(loop);
	fake_send(fds[1], bytes_from(EMPTY, sizeof(EMPTY) - 1));
	fake_send(fds[1], input);
	fake_run(loop);
	if (is_early && is_open)
		(void)io_write(near, bytes_str(ASK));
	fake_run(loop);
	fake_end(fds[1]);
	fake_run(loop);
	h2_session_free(session);
	session = NULL;
	fake_run(loop);
	/* It ended, one way or the other. */
	assert(!is_open);
	io_loop_free(loop);
	fake_reset_all();
	return 0;
}
