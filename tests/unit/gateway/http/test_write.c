/* What we write is what we parsed, and nothing else. */
#include <stdio.h>

#include "common/cleanup.h"
#include "gateway/http/write.h"
#include "heads.h"

static struct target target_of(const char *host, enum host_kind kind,
			       uint16_t port, enum target_scheme scheme)
{
	struct target target = {.kind = kind, .port = port, .scheme = scheme};

	(void)snprintf(target.host, sizeof(target.host), "%s", host);
	return target;
}

static const struct {
	struct bytes request;
	struct bytes written;
} requests[] = {
	{BYTES_LITERAL("GET /%7ea?b HTTP/1.1\r\nHost: H.example\r\n"
		       "Connection: close\r\nAccept:  x\r\nEmpty:\r\n\r\n"),
	 BYTES_LITERAL("GET /~a?b HTTP/1.1\r\nHost: h.example\r\n"
		       "Accept: x\r\nEmpty: \r\n\r\n")},
	{BYTES_LITERAL("GET http://H.example/? HTTP/1.0\r\n\r\n"),
	 BYTES_LITERAL("GET /? HTTP/1.1\r\nHost: h.example\r\n\r\n")},
	{BYTES_LITERAL("POST / HTTP/1.1\r\nHost: h.example\r\n\r\n"),
	 BYTES_LITERAL("POST / HTTP/1.1\r\nHost: h.example\r\n"
		       "Content-Length: 0\r\n\r\n")},
	{BYTES_LITERAL("PUT / HTTP/1.1\r\nHost: h.example\r\n"
		       "Content-Length: 123456789012345\r\n\r\n"),
	 BYTES_LITERAL("PUT / HTTP/1.1\r\nHost: h.example\r\n"
		       "Content-Length: 123456789012345\r\n\r\n")},
	{BYTES_LITERAL("PATCH / HTTP/1.1\r\nHost: h.example\r\n"
		       "transfer-encoding: chunked\r\nExpect: 100-continue\r\n"
		       "\r\n"),
	 BYTES_LITERAL("PATCH / HTTP/1.1\r\nHost: h.example\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n")},
};

static void write_serialises_requests_anew(void **state)
{
	struct target target =
		target_of("h.example", HOST_NAME, 443, SCHEME_HTTPS);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		auto_type(buf_release) struct buf out;
		struct tried tried;

		buf_init(&out, 4096);
		assert_int_equal(try_head(&tried, requests[i].request, 1, NULL),
				 OUTCOME_ACCEPTED);
		assert_int_equal(write_request(&out, &tried.request, &target),
				 0);
		assert_true(bytes_equal(buf_view(&out), requests[i].written));
		tried_release(&tried);
	}
}

static void write_names_a_port_that_is_not_the_schemes(void **state)
{
	static const struct {
		const char *host;
		enum host_kind kind;
		uint16_t port;
		enum target_scheme scheme;
		const char *line;
	} rows[] = {
		{"a.b", HOST_NAME, 443, SCHEME_HTTPS, "Host: a.b\r\n"},
		{"a.b", HOST_NAME, 80, SCHEME_HTTPS, "Host: a.b:80\r\n"},
		{"a.b", HOST_NAME, 80, SCHEME_HTTP, "Host: a.b\r\n"},
		{"a.b", HOST_NAME, 65535, SCHEME_HTTP, "Host: a.b:65535\r\n"},
		{"192.0.2.1", HOST_IPV4, 80, SCHEME_HTTP,
		 "Host: 192.0.2.1\r\n"},
		{"2001:db8::1", HOST_IPV6, 8080, SCHEME_HTTP,
		 "Host: [2001:db8::1]:8080\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target target = target_of(rows[i].host, rows[i].kind,
						 rows[i].port, rows[i].scheme);
		auto_type(buf_release) struct buf out;
		struct bytes first = TEXT("GET /x?y HTTP/1.1\r\n");

		buf_init(&out, 4096);
		assert_int_equal(write_request_line(&out, TEXT("GET"),
						    TEXT("/x?y"), &target),
				 0);
		assert_true(bytes_starts_with(buf_view(&out), first));
		assert_true(
			bytes_is(bytes_slice(buf_view(&out), first.len, 4096),
				 rows[i].line));
	}
}

static const struct {
	struct bytes response;
	const char *method;
	enum framing framing;
	bool keep_alive;
	struct bytes written;
} responses[] = {
	{BYTES_LITERAL("HTTP/1.0 200 All right\r\nServer:x\r\n"
		       "Content-Length: 3\r\n\r\n"),
	 "GET", FRAMING_LENGTH, true,
	 BYTES_LITERAL("HTTP/1.1 200 All right\r\nServer: x\r\n"
		       "Content-Length: 3\r\n\r\n")},
	{BYTES_LITERAL("HTTP/1.1 200\r\n\r\n"), "GET", FRAMING_CHUNKED, true,
	 BYTES_LITERAL("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n")},
	{BYTES_LITERAL("HTTP/1.1 200 OK\r\n\r\n"), "GET", FRAMING_TO_CLOSE,
	 false, BYTES_LITERAL("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")},
	{BYTES_LITERAL("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), "HEAD",
	 FRAMING_NONE, true,
	 BYTES_LITERAL("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")},
	{BYTES_LITERAL("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n"), "GET",
	 FRAMING_NONE, true,
	 BYTES_LITERAL("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n")},
	{BYTES_LITERAL("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n"), "GET",
	 FRAMING_NONE, false,
	 BYTES_LITERAL("HTTP/1.1 204 No\r\nConnection: close\r\n\r\n")},
	{BYTES_LITERAL("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "GET",
	 FRAMING_LENGTH, true,
	 BYTES_LITERAL("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
};

static void write_serialises_responses_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(responses); i++) {
		auto_type(buf_release) struct buf out;
		struct tried tried;

		buf_init(&out, 4096);
		assert_int_equal(try_head(&tried, responses[i].response, 1,
					  responses[i].method),
				 OUTCOME_ACCEPTED);
		tried.response.framing = responses[i].framing;
		assert_int_equal(write_response(&out, &tried.response,
						responses[i].keep_alive),
				 0);
		assert_true(bytes_equal(buf_view(&out), responses[i].written));
		tried_release(&tried);
	}
}

static void write_says_when_there_is_no_room(void **state)
{
	static const struct bytes text = BYTES_LITERAL(
		"PUT /abc?d HTTP/1.1\r\nHost: h.example\r\nX: y\r\n"
		"Content-Length: 3\r\n\r\n");
	struct target target =
		target_of("h.example", HOST_NAME, 8443, SCHEME_HTTPS);
	struct tried tried;
	size_t len = text.len + 5; /* ":8443" */

	(void)state;
	assert_int_equal(try_head(&tried, text, 1, NULL), OUTCOME_ACCEPTED);
	for (size_t max = 0; max <= len; max++) {
		auto_type(buf_release) struct buf out;

		buf_init(&out, max);
		assert_int_equal(write_request(&out, &tried.request, &target),
				 max == len ? 0 : -1);
	}
	tried_release(&tried);
}

static void predicates_know_what_may_be_written(void **state)
{
	(void)state;
	assert_true(http_is_token(TEXT("X-a!#$%&'*+.^_`|~9")));
	assert_false(http_is_token(TEXT("")));
	assert_false(http_is_token(TEXT("a b")));
	assert_false(http_is_token(TEXT("a:")));
	assert_false(http_is_token(TEXT("a\r\nb")));
	assert_true(http_is_value(TEXT("")));
	assert_true(http_is_value(TEXT("a\tb \xff")));
	assert_false(http_is_value(TEXT("a\r\nb")));
	assert_false(http_is_value(TEXT("a\nb")));
	assert_false(http_is_value(TEXT("a\0b")));
	assert_true(http_is_target(TEXT("/a?b")));
	assert_false(http_is_target(TEXT("/a b")));
	assert_false(http_is_target(TEXT("/a#b")));
	assert_false(http_is_target(TEXT("/\xe9")));
	assert_false(http_is_target(TEXT("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_serialises_requests_anew),
		cmocka_unit_test(write_names_a_port_that_is_not_the_schemes),
		cmocka_unit_test(write_serialises_responses_anew),
		cmocka_unit_test(write_says_when_there_is_no_room),
		cmocka_unit_test(predicates_know_what_may_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
