/* Responses that must not pass (security.md A38, A39), each beside a twin
 * that must; and how each kind is delimited. */
#include "common/cleanup.h"
#include "heads.h"

#define OK     "HTTP/1.1 200 OK\r\n"
#define CHUNKS "Transfer-Encoding: chunked\r\n"
#define BAD    CONSTRAINT_response_malformed

static const struct twin twins[] = {
	TWIN("Content-Length and Transfer-Encoding",
	     OK "Content-Length: 3\r\n" CHUNKS "\r\n", BAD, OK CHUNKS "\r\n"),
	TWIN("two lengths", OK "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
	     BAD, OK "Content-Length: 3\r\n\r\n"),
	TWIN("a list of lengths", OK "Content-Length: 3, 3\r\n\r\n", BAD,
	     OK "Content-Length: 3\r\n\r\n"),
	TWIN("gzip, chunked", OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
	     BAD, OK CHUNKS "\r\n"),
	TWIN("chunked for HTTP/1.0", "HTTP/1.0 200 OK\r\n" CHUNKS "\r\n", BAD,
	     "HTTP/1.0 200 OK\r\n\r\n"),
	TWIN("LF after the status", "HTTP/1.1 200 OK\nX: y\r\n\r\n", BAD,
	     OK "X: y\r\n\r\n"),
	TWIN("a folded field", OK "X: y\r\n z\r\n\r\n", BAD,
	     OK "X: y z\r\n\r\n"),
	TWIN("a status of 2 digits", "HTTP/1.1 20 OK\r\n\r\n", BAD,
	     "HTTP/1.1 200 OK\r\n\r\n"),
	TWIN("a status of 4 digits", "HTTP/1.1 2000 OK\r\n\r\n", BAD,
	     "HTTP/1.1 200 0OK\r\n\r\n"),
	TWIN("status 000", "HTTP/1.1 000 OK\r\n\r\n", BAD,
	     "HTTP/1.1 100 OK\r\n\r\n"),
	TWIN("status 600", "HTTP/1.1 600 OK\r\n\r\n", BAD,
	     "HTTP/1.1 599 OK\r\n\r\n"),
	TWIN("status 2x0", "HTTP/1.1 2x0 OK\r\n\r\n", BAD,
	     "HTTP/1.1 200\r\n\r\n"),
	TWIN("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", BAD,
	     "HTTP/1.1 200 \r\n\r\n"),
	TWIN("no version", "200 OK\r\n\r\n", BAD, "HTTP/1.1 200 OK\r\n\r\n"),
	TWIN("no HTTP at all", "SSH-2.0-x\r\n", BAD,
	     "HTTP/1.1 200 OK\r\n\r\nSSH"),
	TWIN("NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n", BAD,
	     "HTTP/1.1 200 O\xffK\r\n\r\n"),
	TWIN("DEL in a value", OK "X: \x7f\r\n\r\n", BAD, OK "X: ~\r\n\r\n"),
	TWIN("an empty name", OK ": y\r\n\r\n", BAD, OK "x: y\r\n\r\n"),
	TWIN("Content_Length", OK "Content_Length: 3\r\n\r\n", BAD,
	     OK "Content-Lengths: 3\r\n\r\n"),
	TWIN("Connection: Set-Cookie", OK "Connection: Set-Cookie\r\n\r\n", BAD,
	     OK "Connection: close, Transfer-Encoding\r\n\r\n"),
	TWIN("A29 101 unasked",
	     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	     "Connection: Upgrade\r\n\r\n",
	     BAD, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
};

static void head_refuses_responses_that_are_not_strict(void **state)
{
	(void)state;
	check_twins(twins, ARRAY_SIZE(twins), "GET");
}

static void head_refuses_a_response_that_is_too_large(void **state)
{
	static char text[HEAD_LINE_MAX + 64] = OK "X: ";
	struct tried tried;

	(void)state;
	memset(text + strlen(text), 'y', sizeof(text) - strlen(text));
	assert_int_equal(
		try_head(&tried, bytes_from(text, sizeof(text)), 1024, "GET"),
		OUTCOME_REFUSED);
	assert_int_equal(tried.fault.constraint, CONSTRAINT_response_malformed);
	tried_release(&tried);
}

static const struct {
	const char *text;
	const char *method;
	enum framing framing;
	uint64_t body_len;
	bool keep_alive;
} framings[] = {
	{OK "Content-Length: 5\r\n\r\n", "GET", FRAMING_LENGTH, 5, true},
	{OK "Content-Length: 0\r\n\r\n", "GET", FRAMING_LENGTH, 0, true},
	{OK CHUNKS "\r\n", "GET", FRAMING_CHUNKED, 0, true},
	{OK "\r\n", "GET", FRAMING_TO_CLOSE, 0, false},
	{OK "Content-Length: 5\r\n\r\n", "HEAD", FRAMING_NONE, 5, true},
	{OK CHUNKS "\r\n", "HEAD", FRAMING_NONE, 0, true},
	{OK "\r\n", "HEAD", FRAMING_NONE, 0, true},
	{OK "\r\n", "CONNECT", FRAMING_NONE, 0, true},
	{"HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\n", "CONNECT",
	 FRAMING_LENGTH, 5, true},
	{"HTTP/1.1 100 Continue\r\n\r\n", "POST", FRAMING_NONE, 0, true},
	{"HTTP/1.1 102 Wait\r\nContent-Length: 5\r\n\r\n", "HEAD", FRAMING_NONE,
	 0, true},
	{OK "Content-Length: 5\r\n\r\n", "CONNECT", FRAMING_NONE, 0, true},
	{"HTTP/1.1 204 No Content\r\n\r\n", "GET", FRAMING_NONE, 0, true},
	{"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "HEAD",
	 FRAMING_NONE, 0, true},
	{"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "GET",
	 FRAMING_NONE, 0, false},
	{"HTTP/1.1 204 No Content\r\n" CHUNKS "\r\n", "GET", FRAMING_NONE, 0,
	 false},
	{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET",
	 FRAMING_NONE, 5, true},
	{OK "Connection: close\r\nContent-Length: 5\r\n\r\n", "GET",
	 FRAMING_LENGTH, 5, false},
	{"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", FRAMING_LENGTH,
	 5, false},
};

static void head_delimits_responses_as_rfc_9112_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(framings); i++) {
		struct tried tried;

		assert_int_equal(try_head(&tried, bytes_str(framings[i].text),
					  3, framings[i].method),
				 OUTCOME_ACCEPTED);
		assert_int_equal(tried.response.framing, framings[i].framing);
		assert_int_equal(tried.response.body_len, framings[i].body_len);
		assert_int_equal(tried.response.keep_alive,
				 framings[i].keep_alive);
		tried_release(&tried);
	}
}

static void head_keeps_what_ends_at_the_client_only(void **state)
{
	struct tried tried;

	(void)state;
	assert_int_equal(
		try_head(&tried,
			 TEXT("HTTP/1.1 404 Not here\r\nServer: x\r\n"
			      "Keep-Alive: timeout=5\r\nTrailer: y\r\n"
			      "Connection: keep-alive\r\nUpgrade: h2c\r\n"
			      "Content-Length: 2\r\nEmpty:\r\n"
			      "Proxy-Authenticate: Basic\r\n\r\n"),
			 1, "GET"),
		OUTCOME_ACCEPTED);
	assert_int_equal(tried.response.status, 404);
	assert_true(bytes_is(tried.response.reason, "Not here"));
	assert_int_equal(tried.response.fields.count, 2);
	assert_true(bytes_is(tried.response.fields.items[0].name, "Server"));
	assert_true(bytes_is(tried.response.fields.items[1].name, "Empty"));
	assert_int_equal(tried.response.fields.items[1].value.len, 0);
	tried_release(&tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_refuses_responses_that_are_not_strict),
		cmocka_unit_test(head_refuses_a_response_that_is_too_large),
		cmocka_unit_test(head_delimits_responses_as_rfc_9112_says),
		cmocka_unit_test(head_keeps_what_ends_at_the_client_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
