#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/http/head.h"
#include "gateway/websocket/handshake.h"

#define KEY	 "dGhlIHNhbXBsZSBub25jZQ==" /* RFC 6455 1.3 */
#define ACCEPT	 "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define FIRST	 "GET /chat HTTP/1.1\r\nHost: a.test\r\n"
#define SWITCHES "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
#define KEYED	 "Sec-WebSocket-Key: " KEY "\r\n"
#define VERSION	 "Sec-WebSocket-Version: 13\r\n"

struct side {
	struct arena arena;
	struct request request;
	struct response response;
	struct websocket_handshake handshake;
	struct http_fault fault;
};

static void side_init(struct side *side)
{
	*side = (struct side){0};
	arena_init(&side->arena, 2 * HEAD_ARENA_BYTES);
}

/* Read a request's head and look at its handshake. */
static enum constraint offer(struct side *side, const char *text)
{
	struct bytes credentials;
	struct guard guard;
	size_t len;

	guard_init(&guard, GUARD_REQUEST);
	if (guard_scan(&guard, bytes_str(text), &len) != GUARD_COMPLETE)
		return guard.fault.constraint;
	if (head_request(&side->arena, &guard, bytes_str(text), &side->request,
			 &credentials, &side->fault) < 0)
		return side->fault.constraint;
	assert_true(side->request.is_websocket);
	return websocket_offer(&side->handshake, &side->arena, &side->request,
			       &side->fault) < 0
		       ? side->fault.constraint
		       : CONSTRAINT_none;
}

static enum constraint agree(struct side *side, const char *fields)
{
	char text[1024];
	struct guard guard;
	size_t len;

	(void)snprintf(text, sizeof(text),
		       "HTTP/1.1 101 Switching Protocols\r\n%s\r\n", fields);
	guard_init(&guard, GUARD_RESPONSE);
	guard.may_switch = true;
	assert_int_equal(guard_scan(&guard, bytes_str(text), &len),
			 GUARD_COMPLETE);
	if (head_response(&side->arena, &guard, bytes_str(text),
			  bytes_str("GET"), &side->response,
			  &side->fault) < 0 ||
	    websocket_agree(&side->handshake, &side->response, &side->fault) <
		    0)
		return side->fault.constraint;
	return CONSTRAINT_none;
}

static void handshake_of_a_client_is_checked(void **state)
{
	static const struct {
		const char *head;
		enum constraint constraint;
	} rows[] = {
		{FIRST SWITCHES KEYED VERSION "\r\n", CONSTRAINT_none},
		{FIRST SWITCHES KEYED VERSION
		 "Sec-WebSocket-Protocol: a, b\r\n"
		 "Sec-WebSocket-Protocol: c\r\n"
		 "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
		 CONSTRAINT_none},
		/* not this protocol, or not said twice */
		{FIRST "Connection: Upgrade\r\nUpgrade: h2c\r\n" KEYED VERSION
		       "\r\n",
		 CONSTRAINT_upgrade_not_supported},
		{FIRST "Connection: Upgrade\r\n"
		       "Upgrade: websocket, h2c\r\n" KEYED VERSION "\r\n",
		 CONSTRAINT_upgrade_not_supported},
		{FIRST "Upgrade: websocket\r\n" KEYED VERSION "\r\n",
		 CONSTRAINT_upgrade_not_supported},
		{FIRST "Connection: Upgrade\r\n" KEYED VERSION "\r\n",
		 CONSTRAINT_upgrade_not_supported},
		{FIRST SWITCHES "Upgrade: websocket\r\n" KEYED VERSION "\r\n",
		 CONSTRAINT_upgrade_not_supported},
		/* not a handshake */
		{FIRST SWITCHES VERSION "\r\n", CONSTRAINT_request_malformed},
		{FIRST SWITCHES KEYED KEYED VERSION "\r\n",
		 CONSTRAINT_request_malformed},
		{FIRST SWITCHES
		 "Sec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n" VERSION "\r\n",
		 CONSTRAINT_request_malformed},
		{FIRST SWITCHES
		 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n" VERSION
		 "\r\n",
		 CONSTRAINT_request_malformed},
		{FIRST SWITCHES KEYED "\r\n", CONSTRAINT_request_malformed},
		{FIRST SWITCHES KEYED "Sec-WebSocket-Version: 8\r\n\r\n",
		 CONSTRAINT_request_malformed},
		{FIRST SWITCHES KEYED VERSION VERSION "\r\n",
		 CONSTRAINT_request_malformed},
		{FIRST SWITCHES KEYED VERSION "Content-Length: 3\r\n\r\n",
		 CONSTRAINT_request_malformed},
		{FIRST SWITCHES KEYED VERSION
		 "Sec-WebSocket-Protocol: a, ,b\r\n\r\n",
		 CONSTRAINT_request_malformed},
		{"POST /chat HTTP/1.1\r\nHost: a.test\r\n" SWITCHES
			 KEYED VERSION "\r\n",
		 CONSTRAINT_request_malformed},
		{"GET /chat HTTP/1.0\r\nHost: a.test\r\n" SWITCHES KEYED VERSION
		 "\r\n",
		 CONSTRAINT_request_malformed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct side side;
		enum constraint got;

		side_init(&side);
		got = offer(&side, rows[i].head);
		if (got != rows[i].constraint)
			fail_msg("row %zu: %s", i, constraint_name(got));
		arena_release(&side.arena);
	}
}

static void handshake_upstream_is_in_our_own_words(void **state)
{
	struct side side;
	struct fields *fields = &side.request.fields;

	(void)state;
	side_init(&side);
	assert_int_equal(
		offer(&side, FIRST SWITCHES KEYED VERSION
		      "Sec-WebSocket-Protocol: a,b\r\n"
		      "Sec-WebSocket-Protocol:  c\r\n"
		      "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
		CONSTRAINT_none);
	assert_string_equal(side.handshake.client_accept, ACCEPT);
	assert_int_equal(websocket_ask(&side.handshake, &side.request), 0);
	assert_int_equal(fields->count, 5);
	assert_null(fields_find(fields, "Sec-WebSocket-Extensions"));
	assert_true(
		bytes_is(fields_find(fields, "Sec-WebSocket-Protocol")->value,
			 "a, b, c"));
	assert_false(
		bytes_is(fields_find(fields, "Sec-WebSocket-Key")->value, KEY));
	arena_release(&side.arena);
}

#define OURS "Connection: Upgrade\r\nUpgrade: websocket\r\n"
#define YES  "Sec-WebSocket-Accept: " ACCEPT "\r\n"

static void handshake_of_upstream_is_checked(void **state)
{
	static const struct {
		const char *fields;
		enum constraint constraint;
	} rows[] = {
		{OURS YES, CONSTRAINT_none},
		{OURS YES "Sec-WebSocket-Protocol: b\r\n", CONSTRAINT_none},
		{OURS, CONSTRAINT_response_malformed},
		{OURS YES YES, CONSTRAINT_response_malformed},
		{OURS "Sec-WebSocket-Accept: AAAAAMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
		 CONSTRAINT_response_malformed},
		{"Upgrade: websocket\r\n" YES, CONSTRAINT_response_malformed},
		{"Connection: Upgrade\r\n" YES, CONSTRAINT_response_malformed},
		{"Connection: Upgrade\r\nUpgrade: h2c\r\n" YES,
		 CONSTRAINT_response_malformed},
		{OURS YES "Sec-WebSocket-Protocol: c\r\n",
		 CONSTRAINT_response_malformed},
		{OURS YES "Sec-WebSocket-Protocol: a\r\n"
			  "Sec-WebSocket-Protocol: b\r\n",
		 CONSTRAINT_response_malformed},
		{OURS YES "Sec-WebSocket-Extensions: permessage-deflate\r\n",
		 CONSTRAINT_response_malformed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct side side;
		enum constraint got;

		side_init(&side);
		side.handshake.protocols = bytes_str("a, b");
		memcpy(side.handshake.key, KEY, sizeof(KEY));
		memcpy(side.handshake.client_accept, "the client's", 13);
		got = agree(&side, rows[i].fields);
		if (got != rows[i].constraint)
			fail_msg("row %zu: %s", i, constraint_name(got));
		if (got == CONSTRAINT_none)
			assert_true(bytes_is(fields_find(&side.response.fields,
							 "Sec-WebSocket-Accept")
						     ->value,
					     "the client's"));
		arena_release(&side.arena);
	}
}

static void a_101_that_nobody_asked_for_is_malformed(void **state)
{
	static const char text[] =
		"HTTP/1.1 101 Switching Protocols\r\n" OURS YES "\r\n";
	struct side side;
	struct guard guard;
	size_t len;

	(void)state;
	side_init(&side);
	guard_init(&guard, GUARD_RESPONSE);
	assert_int_equal(guard_scan(&guard, bytes_str(text), &len),
			 GUARD_COMPLETE);
	assert_int_equal(head_response(&side.arena, &guard, bytes_str(text),
				       bytes_str("GET"), &side.response,
				       &side.fault),
			 -1);
	arena_release(&side.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshake_of_a_client_is_checked),
		cmocka_unit_test(handshake_upstream_is_in_our_own_words),
		cmocka_unit_test(handshake_of_upstream_is_checked),
		cmocka_unit_test(a_101_that_nobody_asked_for_is_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
