#include "tests/unit/gateway/server/rig.h"

#define GET_NOW	   "GET /now HTTP/1.1\r\n" H "\r\n"
#define POST(path) "POST " path " HTTP/1.1\r\n" H

static void assert_answer(const char *answer, const char *status,
			  const char *body)
{
	assert_begins(answer, status);
	answer = strstr(answer, "\r\n\r\n");
	assert_non_null(answer);
	assert_string_equal(answer + 4, body);
}

/* ---- heads ---- */

static void requests_follow_each_other_however_they_come(void **state)
{
	static const size_t chunks[] = {1, 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		const char *answer;

		fake_set_chunk(rig->client, chunks[i]);
		rig_send(GET_NOW POST(
			"/whole") "Content-Length: 2\r\n\r\nab" POST("/whole")
				 CHUNKED "1\r\nc\r\n0\r\n\r\n" GET_NOW);
		answer = strstr(rig_take(), "\r\n\r\nwhole");
		assert_non_null(answer);
		answer = strstr(answer + 1, "\r\n\r\nwhole");
		assert_non_null(answer);
		assert_non_null(strstr(answer, "\r\n\r\nnow"));
		assert_false(rig_is_closed());
		assert_int_equal(rig->forgotten, 4 * (i + 1));
	}
	assert_string_equal(buf_str(&rig->got), "abcabc");
}

static void no_body_follows_where_none_may(void **state)
{
	(void)state;
	assert_answer(rig_ask("GET /none HTTP/1.1\r\n" H "\r\n"),
		      "HTTP/1.1 204", "");
	assert_answer(rig_ask("HEAD /now HTTP/1.1\r\n" H "\r\n"),
		      "HTTP/1.1 200", "");
	assert_answer(rig_ask(GET_NOW), "HTTP/1.1 200", "now");
}

static void what_is_ambiguous_ends_the_connection(void **state)
{
	static const struct {
		const char *request, *status;
	} rows[] = {
		{POST("/whole") "Content-Length: 1\r\n" CHUNKED,
		 "HTTP/1.1 400"},
		{POST("/whole") "Content-Length: 1\r\nContent-Length: "
				"2\r\n\r\n",
		 "HTTP/1.1 400"},
		{POST("/whole") CHUNKED "x\r\n", "HTTP/1.1 400"},
		{"GET http://h/now HTTP/1.1\r\nHost: h\r\n\r\n",
		 "HTTP/1.1 400"},
		{"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", "HTTP/1.1 400"},
		{"TRACE /now HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 405"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i > 0)
			set_up(state);
		assert_begins(rig_ask(rows[i].request), rows[i].status);
		/* Nothing after it is a request. */
		assert_string_equal(rig_ask(GET_NOW), "");
		assert_true(rig_is_closed());
		assert_int_equal(buf_len(&rig->got), 0);
		if (i + 1 < ARRAY_SIZE(rows))
			tear_down(state);
	}
}

static void a_head_has_its_time_from_its_first_byte(void **state)
{
	(void)state;
	fake_advance(rig->loop, HTTP_IDLE_MS - 1);
	rig_send("GET /now HT");
	fake_advance(rig->loop, HTTP_HEAD_MS - 1);
	assert_answer(rig_ask("TP/1.1\r\n" H "\r\n"), "HTTP/1.1 200", "now");
	rig_send("GET /now HT");
	fake_advance(rig->loop, HTTP_HEAD_MS / 2);
	rig_send("TP/1.1\r\n");
	fake_advance(rig->loop, HTTP_HEAD_MS / 2);
	assert_begins(rig_take(), "HTTP/1.1 408");
	assert_true(rig_is_closed());
}

static void who_asks_nothing_is_let_go_without_a_word(void **state)
{
	(void)state;
	assert_answer(rig_ask(GET_NOW), "HTTP/1.1 200", "now");
	fake_advance(rig->loop, HTTP_IDLE_MS);
	assert_true(rig_is_closed());
	assert_string_equal(rig_take(), "");
}

static void who_reads_no_answers_is_asked_for_no_more(void **state)
{
	static const char ask[] = GET_NOW;
	size_t asked = 0;

	(void)state;
	fake_set_window(rig->client, 1);
	for (; rig->forgotten == asked && asked < 20000; asked++)
		rig_send(ask);
	assert_true(rig->forgotten < asked && rig->forgotten > 1000);
	assert_true(io_out_len(rig->conn->io) < HTTP_OUT_HIGH + 1024);
	/* Who reads them is. */
	buf_clear(fake_received(rig->client));
	fake_set_window(rig->client, 1 << 20);
	fake_run(rig->loop);
	assert_int_equal(rig->forgotten, asked);
}

/* ---- bodies ---- */

static void a_body_has_its_time(void **state)
{
	(void)state;
	rig_send(POST("/whole") "Content-Length: 3\r\n\r\n");
	fake_advance(rig->loop, HTTP_BODY_MS - 1);
	assert_answer(rig_ask("abc"), "HTTP/1.1 200", "whole");
	rig_send(POST("/whole") "Content-Length: 3\r\n\r\n");
	/* What comes meanwhile makes it no longer. */
	fake_advance(rig->loop, HTTP_BODY_MS / 2);
	rig_send("a");
	fake_advance(rig->loop, HTTP_BODY_MS / 2);
	assert_begins(rig_take(), "HTTP/1.1 408");
	assert_true(rig_is_closed());
}

static void a_body_has_its_bound(void **state)
{
	static const struct {
		const char *request;
		bool is_taken;
	} rows[] = {
		{POST("/whole") "Content-Length: 32\r\n\r\n"
				"0123456789abcdef0123456789abcdef",
		 true},
		{POST("/whole") "Content-Length: 33\r\n\r\n", false},
		{POST("/whole") CHUNKED
		 "20\r\n0123456789abcdef0123456789abcdef\r\n0\r\n\r\n",
		 true},
		{POST("/whole") CHUNKED
		 "20\r\n0123456789abcdef0123456789abcdef\r\n1\r\nx",
		 false},
		{POST("/pass") "Content-Length: 32\r\n\r\n"
			       "0123456789abcdef0123456789abcdef",
		 true},
		{POST("/pass") "Content-Length: 33\r\n\r\n", false},
		{POST("/pass") CHUNKED
		 "20\r\n0123456789abcdef0123456789abcdef\r\n0\r\n\r\n",
		 true},
		{POST("/pass") CHUNKED
		 "20\r\n0123456789abcdef0123456789abcdef\r\n1\r\nx",
		 false},
		{POST("/all") CHUNKED "20\r\n0123456789abcdef0123456789abcdef\r"
				      "\n1\r\nx\r\n0\r\n\r\n",
		 true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i > 0)
			set_up(state);
		assert_begins(rig_ask(rows[i].request),
			      rows[i].is_taken ? "HTTP/1.1 200"
					       : "HTTP/1.1 413");
		assert_int_equal(rig_is_closed(), !rows[i].is_taken);
		if (i + 1 < ARRAY_SIZE(rows))
			tear_down(state);
	}
}

static void a_body_is_invited_once_it_is_admitted(void **state)
{
#define EXPECTS "Expect: 100-continue\r\n\r\n"
	(void)state;
	assert_string_equal(
		rig_ask(POST("/whole") "Content-Length: 2\r\n" EXPECTS),
		"HTTP/1.1 100 Continue\r\n\r\n");
	assert_answer(rig_ask("ab"), "HTTP/1.1 200", "whole");
	assert_string_equal(
		rig_ask(POST("/pass") "Content-Length: 2\r\n" EXPECTS),
		"HTTP/1.1 100 Continue\r\n\r\n");
	assert_answer(rig_ask("ab"), "HTTP/1.1 200", "passed");
	assert_begins(rig_ask(POST("/whole") "Content-Length: 0\r\n" EXPECTS),
		      "HTTP/1.1 200");
	assert_begins(rig_ask(POST("/whole") "Content-Length: 33\r\n" EXPECTS),
		      "HTTP/1.1 413");
	assert_true(rig_is_closed());
}

static void an_answer_that_leaves_a_body_unread_is_the_last(void **state)
{
	(void)state;
	assert_null(strstr(rig_ask(POST("/now") "Content-Length: 0\r\n\r\n"),
			   "Connection: close"));
	assert_false(rig_is_closed());
	assert_non_null(
		strstr(rig_ask(POST("/now") "Content-Length: 1\r\n\r\n"),
		       "Connection: close"));
	assert_true(rig_is_closed());
}

/* The next head has begun, so large that it keeps the memory of all. */
static bool memory_holds_secret(const char *request)
{
	char text[32 * 1024];
	const struct buf *in;

	(void)snprintf(text, sizeof(text),
		       "%sGET /now HTTP/1.1\r\na:%06000d\r\nb:%06000d\r\n"
		       "c:%06000d\r\n",
		       request, 0, 0, 0);
	rig_send(text);
	in = io_in(rig->conn->io);
	assert_true(buf_len(in) > 18000);
	return bytes_find_bytes(bytes_from(in->data, in->size),
				bytes_str("SECRET"), 0) >= 0;
}

static void a_body_is_wiped_wherever_it_was(void **state)
{
	static const char body[] =
		POST("/whole") "Content-Length: 6\r\n\r\nSECRET";

	assert_false(memory_holds_secret(body));
	assert_null(rig->conn->body.data);
	/* What is no body stays. */
	tear_down(state);
	set_up(state);
	assert_true(
		memory_holds_secret("GET /now?SECRET HTTP/1.1\r\n" H "\r\n"));
}

/* ---- pieces ---- */

static void pieces_wait_while_they_are_held_back(void **state)
{
	(void)state;
	rig_send(POST("/pass") "Content-Length: 4\r\n\r\nab");
	assert_string_equal(buf_str(&rig->got), "ab");
	http_conn_pause(rig->conn, true);
	rig_send("cd");
	/* As long as it pleases who holds them back. */
	fake_advance(rig->loop, 2 * HTTP_STALLED_MS);
	assert_string_equal(buf_str(&rig->got), "ab");
	http_conn_pause(rig->conn, false);
	fake_run(rig->loop);
	assert_string_equal(buf_str(&rig->got), "abcd");
	assert_answer(rig_take(), "HTTP/1.1 200", "passed");
}

static void pieces_that_do_not_come_are_waited_for_in_vain(void **state)
{
	rig_send(POST("/pass") "Content-Length: 4\r\n\r\na");
	for (int i = 0; i < 2; i++) {
		fake_advance(rig->loop, HTTP_STALLED_MS - 1);
		rig_send("b");
	}
	assert_false(rig_is_closed());
	fake_advance(rig->loop, HTTP_STALLED_MS);
	assert_begins(rig_take(), "HTTP/1.1 408");
	assert_true(rig_is_closed());
	/* Not even the first one. */
	tear_down(state);
	set_up(state);
	rig_send(POST("/pass") "Content-Length: 4\r\n\r\n");
	fake_advance(rig->loop, HTTP_STALLED_MS);
	assert_begins(rig_take(), "HTTP/1.1 408");
}

static void who_gets_a_piece_may_end_the_connection(void **state)
{
	static const char *const rows[] = {
		CHUNKED "1\r\na\r\n1\r\nb\r\n0\r\n\r\n",
		"Content-Length: 1\r\n\r\na",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i > 0)
			set_up(state);
		rig->ends_at_piece = true;
		rig_send(POST("/all"));
		rig_send(rows[i]);
		assert_string_equal(buf_str(&rig->got), "a");
		assert_false(rig->is_complete);
		assert_int_equal(rig->released, 1);
		assert_int_equal(rig->forgotten, 1);
		if (i + 1 < ARRAY_SIZE(rows))
			tear_down(state);
	}
}

static void another_protocol_gets_each_byte_and_then_the_end(void **state)
{
	(void)state;
	rig_send(POST("/all") "\r\n");
	rig->is_complete = false;
	assert_int_equal(http_conn_switch(rig->conn, bytes_str("101")), 0);
	rig_send("ab");
	fake_end(rig->client);
	fake_run(rig->loop);
	fake_advance(rig->loop, 2 * HTTP_STALLED_MS);
	assert_false(rig->is_complete);
	http_conn_pause(rig->conn, false);
	assert_string_equal(buf_str(&rig->got), "ab");
	assert_true(rig->is_complete);
	assert_int_equal(http_conn_stream_write(rig->conn, bytes_str("raw")),
			 0);
	http_conn_stream_end(rig->conn);
	fake_run(rig->loop);
	assert_non_null(strstr(rig_take(), "101raw"));
	assert_true(rig_is_closed());
}

static void what_came_before_another_protocol_is_its_own(void **state)
{
	(void)state;
	rig->keeps_silent = true;
	rig_send(POST("/all") "Content-Length: 0\r\n\r\nab");
	assert_int_equal(http_conn_switch(rig->conn, bytes_str("101")), 0);
	fake_run(rig->loop);
	assert_string_equal(buf_str(&rig->got), "");
	http_conn_pause(rig->conn, false);
	assert_string_equal(buf_str(&rig->got), "ab");
	http_conn_stream_end(rig->conn);
}

/* ---- the end ---- */

static void who_ends_its_side_gets_what_was_answered(void **state)
{
	(void)state;
	fake_send(rig->client, bytes_str(GET_NOW));
	fake_end(rig->client);
	fake_run(rig->loop);
	assert_answer(rig_take(), "HTTP/1.1 200", "now");
	assert_int_equal(rig->released, 1);
}

static void who_ends_its_side_does_not_wait_for_an_answer(void **state)
{
	(void)state;
	rig_send(POST("/pass") "Content-Length: 1\r\n\r\n");
	fake_end(rig->client);
	fake_run(rig->loop);
	assert_string_equal(rig_take(), "");
	assert_int_equal(rig->released, 1);
	assert_int_equal(rig->forgotten, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		rig_test(requests_follow_each_other_however_they_come),
		rig_test(no_body_follows_where_none_may),
		rig_test(what_is_ambiguous_ends_the_connection),
		rig_test(a_head_has_its_time_from_its_first_byte),
		rig_test(who_asks_nothing_is_let_go_without_a_word),
		rig_test(who_reads_no_answers_is_asked_for_no_more),
		rig_test(a_body_has_its_time),
		rig_test(a_body_has_its_bound),
		rig_test(a_body_is_invited_once_it_is_admitted),
		rig_test(an_answer_that_leaves_a_body_unread_is_the_last),
		rig_test(a_body_is_wiped_wherever_it_was),
		rig_test(pieces_wait_while_they_are_held_back),
		rig_test(pieces_that_do_not_come_are_waited_for_in_vain),
		rig_test(who_gets_a_piece_may_end_the_connection),
		rig_test(another_protocol_gets_each_byte_and_then_the_end),
		rig_test(what_came_before_another_protocol_is_its_own),
		rig_test(who_ends_its_side_gets_what_was_answered),
		rig_test(who_ends_its_side_does_not_wait_for_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
