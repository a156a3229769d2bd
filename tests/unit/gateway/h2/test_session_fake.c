/*
 * A server's session over the fake io: nghttp2 plays the client, the test
 * what serves its stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "gateway/h2/h2.h"

#define NV(n, v)                                                               \
	{(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1,  \
	 sizeof(v) - 1, 0}

struct rig {
	struct io_loop *loop;
	struct io *io, *lane;
	int far; /* the client's end */
	struct h2_session *session;
	nghttp2_session *client;
	bool may_end; /* the client, its request */
	bool is_answered, is_closed;
	uint32_t code;		    /* that closed the client's stream */
	unsigned frames_since_then; /* that came to it */
};

/* ---- the client ---- */

/* nghttp2's signature. */
#define BODY_READER(name)                                                      \
	static ssize_t name(nghttp2_session *ng, int32_t id, uint8_t *out,     \
			    size_t size, uint32_t *flags,                      \
			    nghttp2_data_source *source, void *user)

BODY_READER(read_request)
{
	const struct rig *rig = user;

	(void)ng;
	(void)id;
	(void)out;
	(void)size;
	(void)source;
	if (!rig->may_end)
		return NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct rig *rig = user;

	(void)ng;
	rig->frames_since_then += rig->is_closed;
	rig->is_answered |= frame->hd.stream_id > 0 &&
			    frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *user)
{
	struct rig *rig = user;

	(void)ng;
	(void)id;
	rig->is_closed = true;
	rig->code = code;
	return 0;
}

/* Until neither has anything to say. */
static void talk(struct rig *rig)
{
	struct buf *in = fake_received(rig->far);
	const uint8_t *data;
	ssize_t len;

	do {
		while ((len = nghttp2_session_mem_send(rig->client, &data)) > 0)
			fake_send(rig->far, bytes_from(data, (size_t)len));
		fake_run(rig->loop);
		assert_int_equal(nghttp2_session_mem_recv(rig->client,
							  buf_view(in).data,
							  buf_len(in)),
				 buf_len(in));
		buf_clear(in);
	} while (nghttp2_session_want_write(rig->client));
}

static void client_begin(struct rig *rig)
{
	nghttp2_session_callbacks *callbacks;

	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
							     on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
							       on_close);
	assert_int_equal(
		nghttp2_session_client_new(&rig->client, callbacks, rig), 0);
	nghttp2_session_callbacks_del(callbacks);
	assert_int_equal(nghttp2_submit_settings(rig->client, NGHTTP2_FLAG_NONE,
						 NULL, 0),
			 0);
}

static void client_ask(struct rig *rig)
{
	const nghttp2_nv fields[] = {
		NV(":method", "POST"),
		NV(":scheme", "https"),
		NV(":authority", "api.test"),
		NV(":path", "/call"),
	};
	const nghttp2_data_provider body = {.read_callback = read_request};

	assert_int_equal(nghttp2_submit_request(rig->client, NULL, fields,
						ARRAY_SIZE(fields), &body,
						NULL),
			 1);
	talk(rig);
}

static void client_end(struct rig *rig)
{
	rig->may_end = true;
	assert_int_equal(nghttp2_session_resume_data(rig->client, 1), 0);
	talk(rig);
}

/* ---- the server ---- */

static void on_lane(struct io *io, enum io_event event, void *owner)
{
	struct rig *rig = owner;

	if (event == IO_EOF || event == IO_FAILED)
		io_close(io);
	if (event == IO_RELEASED)
		rig->lane = NULL;
}

static int on_stream(void *owner, struct io *io, bool is_wide,
		     const struct http_fault *fault)
{
	struct rig *rig = owner;

	(void)is_wide;
	assert_null(fault);
	rig->lane = io;
	io_set_owner(io, on_lane, rig);
	io_read_start(io);
	return 0;
}

static void on_moved(void *owner)
{
	(void)owner;
}

static void on_io(struct io *io, enum io_event event, void *owner)
{
	struct rig *rig = owner;

	(void)io;
	if (event == IO_DATA)
		h2_session_receive(rig->session);
}

static void answer(struct rig *rig)
{
	assert_int_equal(io_write(rig->lane,
				  bytes_str("HTTP/1.1 200 OK\r\n"
					    "Transfer-Encoding: chunked\r\n\r\n"
					    "4\r\nwell\r\n"
					    "0\r\ngrpc-status: 0\r\n\r\n")),
			 0);
	io_close_flushed(rig->lane, 1000);
	talk(rig);
}

static void rig_open(struct rig *rig)
{
	static const struct io_limits limits = {65536, 65536, 1 << 20};
	static const struct h2_stream_limits streams = {
		.wide = {65536, 65536, 1 << 20},
		.narrow = {65536, 8192, 1 << 20},
	};
	static const struct h2_events events = {
		.on_stream = on_stream,
		.on_moved = on_moved,
	};
	int fds[2];

	*rig = (struct rig){.loop = io_loop_new(NULL)};
	fake_stream_pair(fds);
	rig->far = fds[1];
	rig->io = io_new(rig->loop, fds[0], &limits, on_io, rig);
	rig->session =
		h2_server_new(rig->loop, rig->io, &streams, &events, rig);
	assert_non_null(rig->session);
	io_read_start(rig->io);
	client_begin(rig);
	client_ask(rig);
	assert_non_null(rig->lane);
}

static void rig_close(struct rig *rig)
{
	nghttp2_session_del(rig->client);
	h2_session_free(rig->session);
	io_close(rig->io);
	fake_run(rig->loop);
	assert_null(rig->lane);
	io_loop_free(rig->loop);
	fake_reset_all();
}

/* ---- tests ---- */

static void session_answers_a_request_that_has_ended(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	client_end(&rig);
	assert_false(rig.is_closed);
	answer(&rig);
	assert_true(rig.is_answered);
	assert_true(rig.is_closed);
	assert_int_equal(rig.code, NGHTTP2_NO_ERROR);
	assert_int_equal(rig.frames_since_then, 0);
	rig_close(&rig);
}

static void
session_sends_a_frame_behind_the_end_of_a_request_it_answered(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	answer(&rig);
	assert_true(rig.is_answered);
	assert_false(rig.is_closed);
	client_end(&rig);
	assert_true(rig.is_closed);
	assert_int_equal(rig.code, NGHTTP2_NO_ERROR);
	assert_int_equal(rig.frames_since_then, 1);
	rig_close(&rig);
}

static void session_resets_an_answered_request_that_does_not_end(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	answer(&rig);
	fake_advance(rig.loop, H2_LINGER_MS - 1);
	talk(&rig);
	assert_false(rig.is_closed);
	fake_advance(rig.loop, 1);
	talk(&rig);
	assert_true(rig.is_closed);
	assert_int_equal(rig.code, NGHTTP2_NO_ERROR);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_answers_a_request_that_has_ended),
		cmocka_unit_test(
			session_sends_a_frame_behind_the_end_of_a_request_it_answered),
		cmocka_unit_test(
			session_resets_an_answered_request_that_does_not_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
