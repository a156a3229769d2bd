/* What stands in a request that passed. */
#include <stdio.h>

#include "common/cleanup.h"
#include "heads.h"

static void head_reads_an_origin_form(void **state)
{
	struct tried tried;
	struct request *request = &tried.request;

	(void)state;
	assert_int_equal(try_head(&tried,
				  TEXT("POST /a/%7eb/./c?x=1&y=%2f HTTP/1.1\r\n"
				       "Host: Api.Example.com:8443\r\n"
				       "User-Agent:  x y \t\r\nEmpty:\r\n"
				       "Content-Length: 10\r\n\r\n"),
				  1, NULL),
			 OUTCOME_ACCEPTED);
	assert_int_equal(request->form, FORM_ORIGIN);
	assert_true(bytes_is(request->method, "POST"));
	assert_true(bytes_is(request->host, "Api.Example.com"));
	assert_int_equal(request->port, 8443);
	assert_true(bytes_is(request->raw_path, "/a/%7eb/./c?x=1&y=%2f"));
	assert_true(bytes_is(request->path, "/a/~b/c"));
	assert_true(request->has_query);
	assert_true(bytes_is(request->query, "x=1&y=%2f"));
	assert_int_equal(request->framing, FRAMING_LENGTH);
	assert_int_equal(request->body_len, 10);
	assert_true(request->keep_alive);
	assert_int_equal(request->fields.count, 2);
	assert_true(bytes_is(request->fields.items[0].value, "x y"));
	assert_true(bytes_is(request->fields.items[1].name, "Empty"));
	assert_int_equal(request->fields.items[1].value.len, 0);
	tried_release(&tried);
}

static void head_reads_an_absolute_form(void **state)
{
	static const struct {
		const char *target, *path, *raw, *query;
	} rows[] = {
		{"http://a.b", "/", "/", ""},
		{"http://a.b:80/", "/", "/", ""},
		{"http://a.b?q", "/", "/?q", "q"},
		{"http://a.b/x?", "/x", "/x?", ""},
		{"HTTP://a.b/x/y?z?", "/x/y", "/x/y?z?", "z?"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tried tried;
		char text[128];

		(void)snprintf(text, sizeof(text),
			       "GET %s HTTP/1.1\r\nHost: a.b\r\n\r\n",
			       rows[i].target);
		assert_int_equal(try_head(&tried, bytes_str(text), 5, NULL),
				 OUTCOME_ACCEPTED);
		assert_int_equal(tried.request.form, FORM_ABSOLUTE);
		assert_true(bytes_is(tried.request.host, "a.b"));
		assert_true(bytes_is(tried.request.path, rows[i].path));
		assert_true(bytes_is(tried.request.raw_path, rows[i].raw));
		assert_true(bytes_is(tried.request.query, rows[i].query));
		assert_int_equal(tried.request.has_query,
				 strchr(rows[i].target, '?') != NULL);
		tried_release(&tried);
	}
}

static void head_reads_connect_with_its_credential(void **state)
{
	struct tried tried;

	(void)state;
	assert_int_equal(try_head(&tried,
				  TEXT("CONNECT github.com:443 HTTP/1.1\r\n"
				       "Host: github.com:443\r\n"
				       "Proxy-Authorization: Basic eDp5\r\n"
				       "Proxy-Connection: keep-alive\r\n"
				       "User-Agent: git/2\r\n\r\n"),
				  1, NULL),
			 OUTCOME_ACCEPTED);
	assert_int_equal(tried.request.form, FORM_AUTHORITY);
	assert_true(bytes_is(tried.request.host, "github.com"));
	assert_int_equal(tried.request.port, 443);
	assert_int_equal(tried.request.path.len, 0);
	assert_int_equal(tried.request.framing, FRAMING_NONE);
	assert_true(bytes_is(tried.proxy_authorization, "Basic eDp5"));
	assert_int_equal(tried.request.fields.count, 1);
	tried_release(&tried);
}

static void head_takes_out_what_ends_at_this_hop(void **state)
{
	struct tried tried;

	(void)state;
	assert_int_equal(
		try_head(&tried,
			 TEXT("POST / HTTP/1.1\r\nHost: a\r\n"
			      "Transfer-Encoding: chunked\r\nTE: trailers\r\n"
			      "Trailer: X\r\nKeep-Alive: 5\r\n"
			      "Connection: TE, close\r\nProxy-X: y\r\n"
			      "Expect: 100-continue\r\nAccept: b\r\n\r\n"),
			 1, NULL),
		OUTCOME_ACCEPTED);
	assert_int_equal(tried.request.fields.count, 1);
	assert_true(bytes_is(tried.request.fields.items[0].name, "Accept"));
	assert_int_equal(tried.request.framing, FRAMING_CHUNKED);
	assert_true(tried.request.expects_continue);
	assert_false(tried.request.keep_alive);
	assert_int_equal(tried.proxy_authorization.len, 0);
	tried_release(&tried);
}

static void head_serves_http_1_0_once(void **state)
{
	struct tried tried;

	(void)state;
	assert_int_equal(try_head(&tried,
				  TEXT("POST / HTTP/1.0\r\nHost: a\r\n"
				       "Connection: keep-alive\r\n"
				       "Expect: 100-continue\r\n"
				       "Content-Length: 3\r\n\r\n"),
				  1, NULL),
			 OUTCOME_ACCEPTED);
	assert_true(tried.request.is_http10);
	assert_false(tried.request.keep_alive);
	assert_false(tried.request.expects_continue);
	assert_int_equal(tried.request.body_len, 3);
	tried_release(&tried);
}

static void head_leaves_room_for_our_own_fields(void **state)
{
	struct tried tried;

	(void)state;
	assert_int_equal(try_head(&tried,
				  TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 1,
				  NULL),
			 OUTCOME_ACCEPTED);
	for (unsigned i = 0; i < HEAD_FIELDS_SPARE; i++)
		assert_int_equal(
			fields_add(&tried.request.fields, TEXT("x"), TEXT("y")),
			0);
	tried_release(&tried);
}

static void head_fails_when_the_arena_is_full(void **state)
{
	static const struct bytes text =
		BYTES_LITERAL("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
	struct tried tried;

	(void)state;
	assert_int_equal(try_head(&tried, text, 1, NULL), OUTCOME_ACCEPTED);
	tried_release(&tried);
	arena_init(&tried.arena, 32);
	assert_int_equal(head_request(&tried.arena, &tried.guard, text,
				      &tried.request,
				      &tried.proxy_authorization, &tried.fault),
			 -1);
	assert_int_equal(tried.fault.constraint, CONSTRAINT_internal);
	tried_release(&tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_reads_an_origin_form),
		cmocka_unit_test(head_reads_an_absolute_form),
		cmocka_unit_test(head_reads_connect_with_its_credential),
		cmocka_unit_test(head_takes_out_what_ends_at_this_hop),
		cmocka_unit_test(head_serves_http_1_0_once),
		cmocka_unit_test(head_leaves_room_for_our_own_fields),
		cmocka_unit_test(head_fails_when_the_arena_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
