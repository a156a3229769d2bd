#include "tests/unit/gateway/server/rig.h"

#include <utlist.h>

#define WINDOW 4096
#define PINGS  100

static struct http_service service;
static unsigned rooms;

static void begin(const char *request, uint64_t len)
{
	rig_send(request);
	assert_int_equal(
		http_conn_stream_begin(rig->conn, 200, &no_fields, len), 0);
}

#define POST_ALL "POST /all HTTP/1.1\r\n" H

static void on_room(void *owner)
{
	(void)owner;
	rooms++;
}

/* An answer streams to a client that takes WINDOW bytes before it reads. */
static void begin_endless(void)
{
	service = rig_service;
	service.on_room = on_room;
	rig->server.service = &service;
	rooms = 0;
	begin(POST_ALL CHUNKED, UINT64_MAX);
	fake_set_window(rig->client, WINDOW);
}

static void write_piece(size_t len)
{
	static const uint8_t zeros[2 * WINDOW];

	assert_true(len <= sizeof(zeros));
	(void)http_conn_stream_write(rig->conn, bytes_from(zeros, len));
	fake_run(rig->loop);
}

static void read_all(void)
{
	buf_clear(fake_received(rig->client));
	fake_set_window(rig->client, WINDOW);
	fake_run(rig->loop);
}

static void pings_keep_nobody_who_does_not_read(void **state)
{
	uint64_t ms = 0;

	(void)state;
	begin_endless();
	write_piece(WINDOW);
	for (; !rig_is_closed() && ms < 10 * HTTP_STALLED_MS; ms += 3000) {
		write_piece(20);
		fake_advance(rig->loop, 3000);
	}
	assert_true(rig_is_closed());
	assert_true(ms >= HTTP_STALLED_MS - 3000 &&
		    ms <= HTTP_STALLED_MS + 3000);
}

static void who_reads_is_kept_however_slowly(void **state)
{
	(void)state;
	begin_endless();
	for (int i = 0; i < PINGS; i++) {
		write_piece(WINDOW + 100);
		fake_advance(rig->loop, HTTP_STALLED_MS - 1);
		assert_false(rig_is_closed());
		read_all();
	}
	assert_false(rig_is_closed());
	assert_true(rooms > 0);
}

static void who_reads_a_little_is_kept(void **state)
{
	(void)state;
	begin_endless();
	write_piece(WINDOW);
	write_piece(WINDOW);
	for (int i = 0; i < 20; i++) {
		buf_consume(fake_received(rig->client), 100);
		fake_set_window(rig->client, WINDOW);
		fake_run(rig->loop);
		fake_advance(rig->loop, HTTP_STALLED_MS - 1);
		assert_false(rig_is_closed());
	}
	fake_advance(rig->loop, 2 * HTTP_STALLED_MS);
	assert_true(rig_is_closed());
}

static void who_has_read_everything_may_wait_for_more(void **state)
{
	(void)state;
	begin_endless();
	for (int i = 0; i < PINGS; i++) {
		write_piece(20);
		read_all();
		fake_advance(rig->loop, 2 * HTTP_STALLED_MS);
		assert_false(rig_is_closed());
	}
}

/* What is written inside a callback is sent when that is over, and nobody is
 * told that it was. */
static void write_now(void *owner)
{
	(void)owner;
	(void)http_conn_stream_write(rig->conn, bytes_str("news"));
}

static void who_has_read_what_a_callback_wrote_may_wait_too(void **state)
{
	struct io_timer *timer = io_timer_new(rig->loop, write_now, NULL);

	(void)state;
	begin_endless();
	io_timer_set(timer, 1);
	fake_advance(rig->loop, 1);
	assert_non_null(strstr(rig_take(), "news"));
	fake_advance(rig->loop, 10 * HTTP_STALLED_MS);
	assert_false(rig_is_closed());
	io_timer_free(timer);
}

/* ---- what is written ---- */

static const char *after_head(void)
{
	const char *end = strstr(rig_take(), "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}

static void write_words(void)
{
	(void)http_conn_stream_write(rig->conn, bytes_str("ab"));
	(void)http_conn_stream_write(rig->conn, bytes_str(""));
	(void)http_conn_stream_write(rig->conn, bytes_str("c"));
	http_conn_stream_end(rig->conn);
	fake_run(rig->loop);
}

static void a_stream_ends_as_its_framing_says(void **state)
{
	static const struct {
		const char *request;
		uint64_t len;
		const char *body;
		bool is_kept;
	} rows[] = {
		{POST_ALL "\r\n", UINT64_MAX, "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
		 true},
		{POST_ALL "\r\n", 3, "abc", true},
		/* Too few, too many: the client must see that. */
		{POST_ALL "\r\n", 4, "abc", false},
		{POST_ALL "\r\n", 2, "ab", false},
		{"POST /all HTTP/1.0\r\n" H "\r\n", UINT64_MAX, "abc", false},
		{"HEAD /all HTTP/1.1\r\n" H "\r\n", UINT64_MAX, "", true},
		{"HEAD /all HTTP/1.1\r\n" H "\r\n", 3, "", true},
		/* Some of the request's body is left. */
		{POST_ALL CHUNKED, 3, "abc", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i > 0)
			set_up(state);
		rig->keeps_silent = true;
		begin(rows[i].request, rows[i].len);
		write_words();
		assert_string_equal(after_head(), rows[i].body);
		assert_int_equal(rig_is_closed(), !rows[i].is_kept);
		if (i + 1 < ARRAY_SIZE(rows))
			tear_down(state);
	}
}

static void a_stream_is_broken_off_by_another_answer(void **state)
{
	(void)state;
	begin_endless();
	rig_reply(rig->conn, 500, "it failed");
	fake_run(rig->loop);
	assert_string_equal(after_head(), "");
	assert_int_equal(rig->released, 1);
}

static void to_head_and_without_content_nothing_follows(void **state)
{
	(void)state;
	rig_send("HEAD /now HTTP/1.1\r\n" H "\r\n");
	assert_non_null(strstr(buf_str(fake_received(rig->client)),
			       "Content-Length: 3\r\n"));
	assert_string_equal(after_head(), "");
	rig->keeps_silent = true;
	rig_send(POST_ALL "\r\n");
	rig_reply(rig->conn, 204, "");
	fake_run(rig->loop);
	assert_null(strstr(buf_str(fake_received(rig->client)), "Content-Len"));
	assert_string_equal(after_head(), "");
	assert_false(rig_is_closed());
}

/* ---- whole answers ---- */

#define WHOLE (10 * WINDOW)

static void reply_whole(void *owner)
{
	static const uint8_t zeros[WHOLE];

	http_conn_reply(owner, 200, &no_fields,
			bytes_from(zeros, sizeof(zeros)));
}

/* A whole answer begins to go to a client that takes WINDOW bytes. */
static void ask_for_whole(const char *fields)
{
	char request[128];

	(void)snprintf(request, sizeof(request),
		       "GET / HTTP/1.1\r\n" H "%s\r\n", fields);
	service = rig_service;
	service.on_head = reply_whole;
	rig->server.service = &service;
	fake_set_window(rig->client, WINDOW);
	rig_send(request);
}

#define CLOSE "Connection: close\r\n"

/* So many bytes that it got, a part each time just before it is cut off. */
static size_t read_slowly(void)
{
	size_t got = 0, part;

	do {
		part = buf_len(fake_received(rig->client));
		got += part;
		fake_advance(rig->loop, part ? HTTP_STALLED_MS - 1 : 0);
		read_all();
	} while (part > 0);
	return got;
}

static void who_reads_a_whole_answer_gets_it_however_slowly(void **state)
{
	static const char *const rows[] = {"", CLOSE};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ask_for_whole(rows[i]);
		assert_true(read_slowly() > WHOLE);
		fake_advance(rig->loop, HTTP_IDLE_MS);
		assert_int_equal(rig->released, 1);
		tear_down(state);
		set_up(state);
	}
}

static void who_reads_no_whole_answer_is_cut_off(void **state)
{
	static const char *const rows[] = {"", CLOSE};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ask_for_whole(rows[i]);
		fake_advance(rig->loop, HTTP_STALLED_MS - 1);
		assert_int_equal(rig->released, 0);
		fake_advance(rig->loop, 1);
		/* What went before the first look counts as read. */
		fake_advance(rig->loop, HTTP_STALLED_MS);
		assert_int_equal(rig->released, 1);
		tear_down(state);
		set_up(state);
	}
}

static void a_client_that_ends_its_side_gets_its_whole_answer(void **state)
{
	(void)state;
	ask_for_whole("");
	fake_end(rig->client);
	fake_run(rig->loop);
	assert_true(read_slowly() > WHOLE);
	fake_advance(rig->loop, HTTP_LINGER_MS);
	assert_int_equal(rig->released, 1);
}

static void a_last_answer_that_is_read_ends_at_once(void **state)
{
	(void)state;
	ask_for_whole(CLOSE);
	fake_set_window(rig->client, 2 * WHOLE);
	fake_run(rig->loop);
	assert_true(buf_len(fake_received(rig->client)) > WHOLE);
	assert_int_equal(rig->released, 1);
}

static void a_server_that_closes_waits_for_no_slow_reader(void **state)
{
	(void)state;
	ask_for_whole(CLOSE);
	http_server_close(&rig->server);
	fake_advance(rig->loop, HTTP_LINGER_MS);
	assert_int_equal(rig->released, 1);
}

static void slow_readers_of_last_answers_make_room(void **state)
{
	static const bool rows[] = {true, false};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		for (size_t i = 1; i < rig->server.conns_max; i++) {
			ask_for_whole(CLOSE);
			service.makes_room = rows[row];
			assert_int_equal(rig->released, 0);
			rig->client = rig_connect();
		}
		fake_run(rig->loop);
		assert_int_equal(rig->released, 1);
		assert_false(rig->server.is_full);
		http_server_close(&rig->server);
		fake_advance(rig->loop, HTTP_LINGER_MS);
		tear_down(state);
		set_up(state);
	}
}

static void reply_or_stream(void *owner)
{
	struct http_conn *conn = owner;

	if (bytes_is(conn->request.path, "/"))
		reply_whole(owner);
	else
		http_conn_pass(conn, RIG_BODY);
}

/* The first answer waits while the next one begins to stream: who reads
 * neither is not kept, and who reads both is. */
static void a_stream_behind_an_answer_that_waits_has_its_time(void **state)
{
	static const bool rows[] = {false, true};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		rig->keeps_silent = true;
		ask_for_whole("");
		service.on_head = reply_or_stream;
		begin("GET /all HTTP/1.1\r\n" H "\r\n", UINT64_MAX);
		write_piece(2 * WINDOW);
		if (rows[row])
			assert_true(read_slowly() > WHOLE + WINDOW);
		fake_advance(rig->loop, HTTP_STALLED_MS);
		fake_advance(rig->loop, HTTP_STALLED_MS);
		assert_int_equal(rig->released, !rows[row]);
		tear_down(state);
		set_up(state);
	}
}

/* All were served while it became full: nobody could make room then. */
static void last_answers_keep_no_server_full(void **state)
{
	struct http_conn *conn, *next;

	(void)state;
	rig->keeps_silent = true;
	while (!rig->server.is_full) {
		fake_set_window(rig->client, WINDOW);
		rig_send("GET /all HTTP/1.1\r\n" H CLOSE "\r\n");
		rig->client = rig_connect();
	}
	DL_FOREACH_SAFE(rig->server.conns, conn, next)
	if (conn->state == HTTP_CONN_SERVED)
		reply_whole(conn);
	fake_run(rig->loop);
	assert_int_equal(rig->released, 0);
	assert_true(rig->server.is_full);
	fake_advance(rig->loop, HTTP_LINGER_MS);
	assert_false(rig->server.is_full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		rig_test(pings_keep_nobody_who_does_not_read),
		rig_test(who_reads_is_kept_however_slowly),
		rig_test(who_reads_a_whole_answer_gets_it_however_slowly),
		rig_test(who_reads_no_whole_answer_is_cut_off),
		rig_test(a_client_that_ends_its_side_gets_its_whole_answer),
		rig_test(a_last_answer_that_is_read_ends_at_once),
		rig_test(a_server_that_closes_waits_for_no_slow_reader),
		rig_test(slow_readers_of_last_answers_make_room),
		rig_test(a_stream_behind_an_answer_that_waits_has_its_time),
		rig_test(last_answers_keep_no_server_full),
		rig_test(who_reads_a_little_is_kept),
		rig_test(who_has_read_everything_may_wait_for_more),
		rig_test(who_has_read_what_a_callback_wrote_may_wait_too),
		rig_test(a_stream_ends_as_its_framing_says),
		rig_test(a_stream_is_broken_off_by_another_answer),
		rig_test(to_head_and_without_content_nothing_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
