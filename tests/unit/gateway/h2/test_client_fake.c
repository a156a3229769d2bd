/* Requests that an upstream of HTTP/2 wants no more of, before they leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/io_fake.h"
#include "gateway/h2/h2.h"

#define ASK	 "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"
#define GOAWAY	 "\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define ANSWER	 "\0\0\1\1\5\0\0\0\1\x88"

static const struct io_limits limits = {1 << 20, 65536, 1 << 20};

/* Our end of a connection to upstream, and the far end of one stream. */
struct rig {
	struct io_loop *loop;
	struct h2_session *session;
	struct io *near;
	int peer;
	bool has_failed, has_answer, is_released;
};

static void on_near(struct io *io, enum io_event event, void *owner)
{
	struct rig *rig = owner;

	rig->has_answer |= event == IO_DATA;
	rig->has_failed |= event == IO_FAILED;
	rig->is_released |= event == IO_RELEASED;
	if (event == IO_FAILED || event == IO_EOF)
		io_close(io);
}

static void on_moved(void *owner)
{
	(void)owner;
}

static void on_upstream(struct io *io, enum io_event event, void *owner)
{
	struct rig *rig = owner;

	(void)io;
	if (event == IO_DATA)
		h2_session_receive(rig->session);
	else if (event == IO_DRAINED)
		h2_session_drained(rig->session);
}

static void rig_open(struct rig *rig)
{
	static const struct h2_events events = {.on_moved = on_moved};
	struct io *io;
	int fds[2];

	*rig = (struct rig){.loop = io_loop_new(NULL)};
	fake_stream_pair(fds);
	rig->peer = fds[1];
	io = io_new(rig->loop, fds[0], &limits, on_upstream, rig);
	rig->session = h2_client_new(rig->loop, io, &events, rig);
	assert_non_null(rig->session);
	io_read_start(io);
	rig->near = h2_client_open(rig->session, &limits, true);
	assert_non_null(rig->near);
	io_set_owner(rig->near, on_near, rig);
	io_read_start(rig->near);
	fake_send(rig->peer, bytes_from(SETTINGS, sizeof(SETTINGS) - 1));
	fake_run(rig->loop);
}

static void rig_close(struct rig *rig)
{
	fake_run(rig->loop);
	assert_true(rig->is_released);
	h2_session_free(rig->session);
	fake_end(rig->peer);
	fake_run(rig->loop);
	io_loop_free(rig->loop);
	fake_reset_all();
}

static void session_fails_a_request_that_comes_after_goaway(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	fake_send(rig.peer, bytes_from(GOAWAY, sizeof(GOAWAY) - 1));
	fake_run(rig.loop);
	assert_int_equal(io_write(rig.near, bytes_str(ASK)), 0);
	fake_run(rig.loop);
	assert_true(rig.has_failed);
	assert_int_equal(h2_session_streams(rig.session), 0);
	rig_close(&rig);
}

static void session_asks_where_there_was_no_goaway(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	assert_int_equal(io_write(rig.near, bytes_str(ASK)), 0);
	fake_run(rig.loop);
	fake_send(rig.peer, bytes_from(ANSWER, sizeof(ANSWER) - 1));
	fake_run(rig.loop);
	assert_true(rig.has_answer);
	assert_false(rig.has_failed);
	rig_close(&rig);
}

/* What is given up while the connection takes no bytes never leaves. */
static void session_drops_a_request_that_was_given_up_unsent(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	fake_set_window(rig.peer, 0);
	assert_int_equal(io_write(rig.near, bytes_str(ASK)), 0);
	fake_run(rig.loop);
	io_close(rig.near);
	fake_run(rig.loop);
	fake_set_window(rig.peer, 1 << 20);
	fake_run(rig.loop);
	assert_int_equal(h2_session_streams(rig.session), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			session_fails_a_request_that_comes_after_goaway),
		cmocka_unit_test(session_asks_where_there_was_no_goaway),
		cmocka_unit_test(
			session_drops_a_request_that_was_given_up_unsent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
