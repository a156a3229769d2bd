#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/courier/proxy_talk.h"

#define BYTES(text) {(const uint8_t *)(text), sizeof(text) - 1}

struct row {
	enum proxy_kind kind;
	const char *host, *secret;
	struct bytes answers[4]; /* each after what was said before it */
	enum proxy_step last;
	const char *words;  /* of FAILED */
	struct bytes asked; /* what was said in all, if told */
};

static const struct row rows[] = {
	{PROXY_HTTP,
	 "a.example",
	 "",
	 {BYTES("HTTP/1.1 200 OK\r\nVia: x\r\n\r\n")},
	 PROXY_DONE,
	 NULL,
	 BYTES("CONNECT a.example:443 HTTP/1.1\r\n"
	       "Host: a.example:443\r\n\r\n")},
	{PROXY_HTTP,
	 "2001:db8::1",
	 "u:p",
	 {BYTES("HTTP/1.0 200 OK\r\n\r\n")},
	 PROXY_DONE,
	 NULL,
	 BYTES("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n"
	       "Host: [2001:db8::1]:443\r\n"
	       "Proxy-Authorization: Basic dTpw\r\n\r\n")},
	{PROXY_HTTP,
	 "a.example",
	 "",
	 {BYTES("HTTP/1.1 407 x\r\nContent-Length: 9\r\n\r\n")},
	 PROXY_FAILED,
	 "407: it wants other credentials",
	 {NULL, 0}},
	{PROXY_HTTP,
	 "a.example",
	 "",
	 {BYTES("HTTP/1.1 100 Continue\r\n\r\n")},
	 PROXY_FAILED,
	 "it does not connect",
	 {NULL, 0}},
	{PROXY_HTTP,
	 "a.example",
	 "",
	 {BYTES("HTTP/1.1 200 OK\r\n\r\nx")},
	 PROXY_FAILED,
	 "more than it was asked",
	 {NULL, 0}},
	{PROXY_HTTP,
	 "a.example",
	 "",
	 {BYTES("HTTP/1.1 200 OK\n\n")},
	 PROXY_FAILED,
	 "its answer",
	 {NULL, 0}},
	{PROXY_HTTP,
	 "a.example",
	 "",
	 {BYTES("HTTP/1.1 200 OK\r\n")},
	 PROXY_MORE,
	 NULL,
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\5\0"), BYTES("\5\0\0\1\0\0\0\0\0\0")},
	 PROXY_DONE,
	 NULL,
	 BYTES("\5\1\0\5\1\0\3\x9"
	       "a.example\1\xbb")},
	{PROXY_SOCKS5,
	 "192.0.2.1",
	 "user:pass:word",
	 {BYTES("\5\2"), BYTES("\1\0"),
	  BYTES("\5\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
	 PROXY_DONE,
	 NULL,
	 BYTES("\5\2\0\2\1\4user\x9pass:word\5\1\0\1\xc0\0\2\1\1\xbb")},
	{PROXY_SOCKS5,
	 "2001:db8::1",
	 "u:p",
	 {BYTES("\5\0"), BYTES("\5\0\0\3\1x\0\0")},
	 PROXY_DONE,
	 NULL,
	 BYTES("\5\2\0\2\5\1\0\4\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
	       "\1\xbb")},
	{PROXY_SOCKS5,
	 "a.example",
	 "u:p",
	 {BYTES("\5\2"), BYTES("\1\1")},
	 PROXY_FAILED,
	 "other credentials",
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\5\2")},
	 PROXY_FAILED,
	 "other credentials",
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\5\1")},
	 PROXY_FAILED,
	 "not offered",
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\4\0")},
	 PROXY_FAILED,
	 "SOCKS 5",
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\5\0\5")},
	 PROXY_FAILED,
	 "more than",
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\5\0"), BYTES("\5\2\0\1\0\0\0\0\0\0")},
	 PROXY_FAILED,
	 "does not allow",
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\5\0"), BYTES("\5\0\1\1\0\0\0\0\0\0")},
	 PROXY_FAILED,
	 "SOCKS 5",
	 {NULL, 0}},
	{PROXY_SOCKS5,
	 "a.example",
	 "",
	 {BYTES("\5\0"), BYTES("\5\0\0\1\0\0\0\0\0\0x")},
	 PROXY_FAILED,
	 "more than",
	 {NULL, 0}},
};

/* Each answer in pieces; what was said is appended to said. */
static enum proxy_step play(const struct row *row, size_t piece,
			    struct buf *said, struct err *err)
{
	struct proxy_talk talk = {
		.kind = row->kind,
		.host = bytes_str(row->host),
		.port = 443,
		.secret = bytes_str(row->secret),
	};
	auto_type(buf_release) struct buf in;
	enum proxy_step step = PROXY_MORE;

	buf_init(&in, PROXY_ANSWER_MAX);
	assert_int_equal(proxy_talk_begin(&talk, said, err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(row->answers); i++) {
		struct bytes answer = row->answers[i];

		for (size_t at = 0; at < answer.len; at += piece) {
			assert_int_equal(buf_add(&in, bytes_slice(answer, at,
								  at + piece)),
					 0);
			step = proxy_talk_read(&talk, &in, said, err);
		}
	}
	return step;
}

static void proxy_talk_asks_and_understands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf said;
		struct err err = {0};

		buf_init(&said, PROXY_SAY_MAX);
		if (play(&rows[i], 1000, &said, &err) != rows[i].last)
			fail_msg("row %zu: %s", i, err.text);
		if (rows[i].words && !strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
		if (rows[i].asked.data &&
		    !bytes_equal(buf_view(&said), rows[i].asked))
			fail_msg("row %zu: asked for something else", i);
	}
}

static void proxy_talk_does_not_care_how_an_answer_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf said = {0};
		struct err err = {0};

		if (rows[i].last != PROXY_DONE)
			continue;
		buf_init(&said, PROXY_SAY_MAX);
		assert_int_equal(play(&rows[i], 1, &said, &err), PROXY_DONE);
		assert_true(bytes_equal(buf_view(&said), rows[i].asked));
	}
}

static void proxy_talk_wants_a_secret_that_is_user_and_password(void **state)
{
	static const char *const secrets[] = {"token", ":p", "u:"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		struct proxy_talk talk = {
			.kind = PROXY_HTTP,
			.host = bytes_str("a.example"),
			.port = 443,
			.secret = bytes_str(secrets[i]),
		};
		auto_type(buf_release) struct buf said;
		struct err err;

		buf_init(&said, PROXY_SAY_MAX);
		assert_int_equal(proxy_talk_begin(&talk, &said, &err), -1);
		assert_non_null(strstr(err.text, "user:password"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxy_talk_asks_and_understands),
		cmocka_unit_test(proxy_talk_does_not_care_how_an_answer_is_cut),
		cmocka_unit_test(
			proxy_talk_wants_a_secret_that_is_user_and_password),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
