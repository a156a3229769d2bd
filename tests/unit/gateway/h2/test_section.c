#include "gateway/h2/section.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/http/head.h"

#define FIELDS_OF_ROW 8

struct pair {
	const char *name, *value;
};

/* ":method: GET" and so on, unless the row says otherwise. */
#define USUAL                                                                  \
	{":method", "GET"}, {":scheme", "https"}, {":authority", "a.test"},    \
		{":path", "/x?y=1"}

#define ASKS(protocol)                                                         \
	{":method", "CONNECT"}, {":protocol", protocol}, {":scheme", "https"}, \
		{":authority", "a.test"}, {":path", "/x"}

static void collect(struct section *section, struct arena *arena,
		    enum section_kind kind, const struct pair *pairs)
{
	arena_init(arena, HEAD_ARENA_BYTES);
	section_begin(section, kind, arena);
	for (size_t i = 0; i < FIELDS_OF_ROW && pairs[i].name; i++)
		section_add(section, bytes_str(pairs[i].name),
			    bytes_str(pairs[i].value));
}

static void section_becomes_a_request_of_http_1(void **state)
{
	static const struct {
		struct pair pairs[FIELDS_OF_ROW];
		bool is_whole;
		const char *text;
	} rows[] = {
		{{USUAL}, true, "GET /x?y=1 HTTP/1.1\r\nhost: a.test\r\n\r\n"},
		{{USUAL, {"cookie", "a=1"}, {"x", "y"}, {"cookie", "b=2"}},
		 true,
		 "GET /x?y=1 HTTP/1.1\r\nhost: a.test\r\nx: y\r\n"
		 "cookie: a=1; b=2\r\n\r\n"},
		{{USUAL, {"te", "trailers"}, {"host", "a.test"}},
		 true,
		 "GET /x?y=1 HTTP/1.1\r\nhost: a.test\r\nte: trailers\r\n"
		 "\r\n"},
		{{USUAL},
		 false,
		 "GET /x?y=1 HTTP/1.1\r\nhost: a.test\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"},
		{{USUAL, {"content-length", "7"}},
		 false,
		 "GET /x?y=1 HTTP/1.1\r\nhost: a.test\r\n"
		 "content-length: 7\r\n\r\n"},
		{{{":method", "GET"},
		  {":scheme", "https"},
		  {":path", "/"},
		  {"host", "b.test"}},
		 true,
		 "GET / HTTP/1.1\r\nhost: b.test\r\n\r\n"},
		{{ASKS("websocket"),
		  {"sec-websocket-version", "13"},
		  {"sec-websocket-key", "theirs"},
		  {"sec-websocket-protocol", "a"}},
		 false,
		 "GET /x HTTP/1.1\r\nhost: a.test\r\n"
		 "sec-websocket-version: 13\r\nsec-websocket-protocol: a\r\n"
		 "connection: Upgrade\r\nupgrade: websocket\r\n"
		 "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf out;
		auto_type(arena_release) struct arena arena;
		struct section section;
		enum framing framing;

		buf_init(&out, HEAD_BYTES_MAX);
		collect(&section, &arena, SECTION_REQUEST, rows[i].pairs);
		assert_int_equal(section_write_request(&section,
						       rows[i].is_whole, &out,
						       &framing),
				 0);
		assert_string_equal(buf_str(&out), rows[i].text);
	}
}

static void section_serves_a_websocket_and_no_other_protocol(void **state)
{
	static const struct {
		struct pair pairs[FIELDS_OF_ROW];
		bool is_whole;
		enum constraint constraint;
	} rows[] = {
		{{ASKS("websocket")}, false, CONSTRAINT_none},
		{{ASKS("websocket")}, true, CONSTRAINT_request_malformed},
		{{ASKS("websocket"), {"content-length", "0"}},
		 false,
		 CONSTRAINT_request_malformed},
		{{ASKS("websocket"), {"upgrade", "h2c"}},
		 false,
		 CONSTRAINT_request_malformed},
		{{ASKS("")}, false, CONSTRAINT_upgrade_not_supported},
		{{ASKS("WebSocket")}, false, CONSTRAINT_upgrade_not_supported},
		{{ASKS("websocket, h2c")},
		 false,
		 CONSTRAINT_upgrade_not_supported},
		{{ASKS("connect-udp")},
		 false,
		 CONSTRAINT_upgrade_not_supported},
		{{ASKS("connect-ip")}, false, CONSTRAINT_upgrade_not_supported},
		{{USUAL, {":protocol", "websocket"}},
		 false,
		 CONSTRAINT_request_malformed},
		{{{":method", "CONNECT"},
		  {":protocol", "websocket"},
		  {":authority", "a.test"}},
		 false,
		 CONSTRAINT_request_malformed},
		{{{":method", "CONNECT"},
		  {":protocol", "websocket"},
		  {":scheme", "http"},
		  {":authority", "a.test"},
		  {":path", "/x"}},
		 false,
		 CONSTRAINT_request_malformed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf out;
		auto_type(arena_release) struct arena arena;
		struct section section;
		enum framing framing;

		buf_init(&out, HEAD_BYTES_MAX);
		collect(&section, &arena, SECTION_REQUEST, rows[i].pairs);
		(void)section_write_request(&section, rows[i].is_whole, &out,
					    &framing);
		assert_int_equal(section.fault.constraint, rows[i].constraint);
		if (rows[i].constraint == CONSTRAINT_none)
			assert_int_equal(framing, FRAMING_TO_CLOSE);
	}
}

static void section_refuses_what_is_no_request(void **state)
{
	static const struct {
		struct pair pairs[FIELDS_OF_ROW];
		enum constraint constraint;
	} rows[] = {
		{{USUAL, {"X-Upper", "1"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"x y", "1"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"", "1"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"x", "a\r\nb: c"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"x", " a"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"connection", "close"}},
		 CONSTRAINT_request_malformed},
		{{USUAL, {"keep-alive", "1"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"proxy-connection", "x"}},
		 CONSTRAINT_request_malformed},
		{{USUAL, {"transfer-encoding", "chunked"}},
		 CONSTRAINT_request_malformed},
		{{USUAL, {"upgrade", "websocket"}},
		 CONSTRAINT_request_malformed},
		{{USUAL, {"te", "gzip"}}, CONSTRAINT_request_malformed},
		{{USUAL, {":path", "/z"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"x", "1"}, {":extra", "z"}},
		 CONSTRAINT_request_malformed},
		{{USUAL, {":status", "200"}}, CONSTRAINT_request_malformed},
		{{USUAL, {"host", "b.test"}}, CONSTRAINT_request_malformed},
		{{{"x", "1"}, USUAL}, CONSTRAINT_request_malformed},
		{{{":method", "CONNECT"}, {":authority", "a.test:1"}},
		 CONSTRAINT_method_unknown},
		{{{":method", "G T"},
		  {":scheme", "https"},
		  {":authority", "a"},
		  {":path", "/"}},
		 CONSTRAINT_request_malformed},
		{{{":method", "GET"},
		  {":scheme", "http"},
		  {":authority", "a"},
		  {":path", "/"}},
		 CONSTRAINT_request_malformed},
		{{{":method", "GET"},
		  {":scheme", "https"},
		  {":authority", "a"},
		  {":path", "http://b/"}},
		 CONSTRAINT_request_malformed},
		{{{":method", "GET"}, {":scheme", "https"}, {":path", "/"}},
		 CONSTRAINT_request_malformed},
		{{{":method", "GET"},
		  {":scheme", "https"},
		  {":authority", "a b"},
		  {":path", "/"}},
		 CONSTRAINT_request_malformed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf out;
		auto_type(arena_release) struct arena arena;
		struct section section;
		enum framing framing;

		buf_init(&out, HEAD_BYTES_MAX);
		collect(&section, &arena, SECTION_REQUEST, rows[i].pairs);
		assert_int_equal(
			section_write_request(&section, true, &out, &framing),
			-1);
		assert_int_equal(section.fault.constraint, rows[i].constraint);
	}
}

static void section_becomes_a_response_of_http_1(void **state)
{
	static const struct {
		struct pair pairs[FIELDS_OF_ROW];
		const char *method;
		bool is_whole;
		const char *text; /* NULL: refused */
	} rows[] = {
		{{{":status", "200"}, {"x", "y"}},
		 "GET",
		 false,
		 "HTTP/1.1 200 \r\nx: y\r\nTransfer-Encoding: chunked\r\n"
		 "\r\n"},
		{{{":status", "200"}, {"content-length", "3"}},
		 "GET",
		 false,
		 "HTTP/1.1 200 \r\ncontent-length: 3\r\n\r\n"},
		{{{":status", "200"}},
		 "POST",
		 true,
		 "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"},
		{{{":status", "200"}, {"content-length", "3"}},
		 "HEAD",
		 true,
		 "HTTP/1.1 200 \r\ncontent-length: 3\r\n\r\n"},
		{{{":status", "204"}}, "GET", true, "HTTP/1.1 204 \r\n\r\n"},
		{{{":status", "099"}}, "GET", true, NULL},
		{{{":status", "600"}}, "GET", true, NULL},
		{{{":status", "2x0"}}, "GET", true, NULL},
		{{{"x", "y"}}, "GET", true, NULL},
		{{{":status", "200"}, {":path", "/"}}, "GET", true, NULL},
		{{{":status", "200"}, {"connection", "close"}},
		 "GET",
		 true,
		 NULL},
		{{{":status", "200"}, {"x", "a\nb"}}, "GET", true, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf out;
		auto_type(arena_release) struct arena arena;
		struct section section;
		enum framing framing;
		int result;

		buf_init(&out, HEAD_BYTES_MAX);
		collect(&section, &arena, SECTION_RESPONSE, rows[i].pairs);
		result = section_write_response(
			&section, bytes_str(rows[i].method), rows[i].is_whole,
			&out, &framing);
		assert_int_equal(result, rows[i].text ? 0 : -1);
		if (rows[i].text)
			assert_string_equal(buf_str(&out), rows[i].text);
		else
			assert_int_equal(section.fault.constraint,
					 CONSTRAINT_response_malformed);
	}
}

static void section_keeps_of_trailers_what_passes(void **state)
{
	static const struct pair pairs[FIELDS_OF_ROW] = {
		{"grpc-status", "0"},
		{"authorization", "x"},
		{"grpc-", "x"},
		{"grpc-message", "ok"},
	};
	auto_type(arena_release) struct arena arena;
	struct section section;

	(void)state;
	collect(&section, &arena, SECTION_TRAILERS, pairs);
	assert_int_equal(section.fields.count, 2);
	assert_non_null(fields_find(&section.fields, "grpc-status"));
	assert_non_null(fields_find(&section.fields, "grpc-message"));
}

static void section_is_bounded(void **state)
{
	static char large[HEAD_BYTES_MAX];
	auto_type(arena_release) struct arena arena;
	const struct pair pairs[FIELDS_OF_ROW] = {{"x", large}};
	struct section section;
	char name[16];

	(void)state;
	memset(large, 'y', sizeof(large) - 1);
	collect(&section, &arena, SECTION_REQUEST, pairs);
	assert_int_equal(section.fault.constraint,
			 CONSTRAINT_request_too_large);
	arena_release(&arena);
	section_begin(&section, SECTION_REQUEST, &arena);
	for (int i = 0; i <= HEAD_FIELDS_MAX; i++) {
		assert_int_equal(section.fault.constraint, CONSTRAINT_none);
		(void)snprintf(name, sizeof(name), "x%d", i);
		section_add(&section, bytes_str(name), bytes_str("y"));
	}
	assert_int_equal(section.fault.constraint,
			 CONSTRAINT_request_too_large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(section_becomes_a_request_of_http_1),
		cmocka_unit_test(
			section_serves_a_websocket_and_no_other_protocol),
		cmocka_unit_test(section_refuses_what_is_no_request),
		cmocka_unit_test(section_becomes_a_response_of_http_1),
		cmocka_unit_test(section_keeps_of_trailers_what_passes),
		cmocka_unit_test(section_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
