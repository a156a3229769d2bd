#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/listen/socks.h"

#define LITERAL(text) bytes_from(text, sizeof(text) - 1)
#define NAMED	      "\5\1\0\3\6a.test\1\273"

/* What the last message is, when the bytes come one at a time. */
static enum socks_result take_all(struct socks *socks, struct bytes all)
{
	enum socks_result result = SOCKS_MORE;
	size_t start = 0;

	*socks = (struct socks){0};
	for (size_t end = 1; end <= all.len; end++) {
		struct bytes input = bytes_slice(all, start, end);
		size_t before = input.len;

		result = socks_take(socks, &input);
		start += before - input.len;
		if (result == SOCKS_REQUEST || result == SOCKS_INVALID)
			break;
	}
	return result;
}

static void socks_begins_with_its_version(void **state)
{
	(void)state;
	assert_true(socks_begins(LITERAL("\5")));
	assert_true(socks_begins(LITERAL("\4\1")));
	assert_false(socks_begins(LITERAL("CONNECT")));
	assert_false(socks_begins(LITERAL("\x16")));
	assert_false(socks_begins(bytes_from(NULL, 0)));
}

static void socks_reads_a_name_and_both_kinds_of_addresses(void **state)
{
	static const struct {
		struct bytes request;
		const char *host;
		uint16_t port;
	} rows[] = {
		{BYTES_LITERAL("\5\1\0" NAMED), "a.test", 443},
		{BYTES_LITERAL("\5\2\1\0"
			       "\5\1\0\1\300\0\2\7\0\120"),
		 "192.0.2.7", 80},
		{BYTES_LITERAL("\5\1\0"
			       "\5\1\0\4\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\5"
			       "\x20\xfb"),
		 "2001:db8::5", 8443},
	};
	struct socks socks;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(take_all(&socks, rows[i].request),
				 SOCKS_REQUEST);
		assert_string_equal(socks.host, rows[i].host);
		assert_int_equal(socks.port, rows[i].port);
		assert_false(socks.wants_password);
	}
}

static void socks_asks_for_a_password_where_one_can_be_given(void **state)
{
	struct bytes input = LITERAL("\5\2\0\2\1\1u\3abc" NAMED);
	struct socks socks = {0};
	uint8_t out[2];

	(void)state;
	assert_int_equal(socks_take(&socks, &input), SOCKS_METHODS);
	socks_answer_method(&socks, out);
	assert_memory_equal(out, "\5\2", 2);
	assert_int_equal(socks_take(&socks, &input), SOCKS_PASSWORD);
	assert_true(bytes_is(socks.user, "u"));
	assert_true(bytes_is(socks.password, "abc"));
	assert_int_equal(socks_take(&socks, &input), SOCKS_REQUEST);
	assert_int_equal(input.len, 0);
}

static void socks_lets_nobody_go_without_a_password_that_is_needed(void **state)
{
	static const struct {
		struct bytes sent;
		bool is_open; /* where none is needed */
	} rows[] = {
		{BYTES_LITERAL("\5\1\0"), true},
		{BYTES_LITERAL("\5\0"), false},
		{BYTES_LITERAL("\5\2\1\3"), false},
	};
	struct bytes both = LITERAL("\5\2\0\2");
	struct socks needs = {.needs_password = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes input = rows[i].sent, twin = rows[i].sent;
		struct socks socks = {.needs_password = true};
		struct socks open = {0};

		assert_int_equal(socks_take(&socks, &input), SOCKS_INVALID);
		assert_int_equal(socks.refusal_len, 2);
		assert_memory_equal(socks.refusal, "\5\xff", 2);
		assert_int_equal(socks_take(&open, &twin),
				 rows[i].is_open ? SOCKS_METHODS
						 : SOCKS_INVALID);
	}
	assert_int_equal(socks_take(&needs, &both), SOCKS_METHODS);
	assert_true(needs.wants_password);
}

static void socks_answers_what_it_does_not_serve(void **state)
{
	static const struct {
		struct bytes sent, refusal;
	} rows[] = {
		{BYTES_LITERAL("\4"), BYTES_LITERAL("\0\x5b\0\0\0\0\0\0")},
		{BYTES_LITERAL("\6"), BYTES_LITERAL("")},
		{BYTES_LITERAL("\5\0"), BYTES_LITERAL("\5\xff")},
		{BYTES_LITERAL("\5\2\1\3"), BYTES_LITERAL("\5\xff")},
		{BYTES_LITERAL("\5\1\2\5"), BYTES_LITERAL("\1\1")},
		{BYTES_LITERAL("\5\1\0\5\2\0\1\1"),
		 BYTES_LITERAL("\5\7\0\1\0\0\0\0\0\0")},
		{BYTES_LITERAL("\5\1\0\5\3\0\1\1"),
		 BYTES_LITERAL("\5\7\0\1\0\0\0\0\0\0")},
		{BYTES_LITERAL("\5\1\0\5\1\0\2\1"),
		 BYTES_LITERAL("\5\10\0\1\0\0\0\0\0\0")},
		{BYTES_LITERAL("\5\1\0\5\1\1\1\1"),
		 BYTES_LITERAL("\5\1\0\1\0\0\0\0\0\0")},
		{BYTES_LITERAL("\5\1\0\4\1\0\1\1"),
		 BYTES_LITERAL("\5\1\0\1\0\0\0\0\0\0")},
		{BYTES_LITERAL("\5\1\0\5\1\0\3\0\0\120"), /* no name */
		 BYTES_LITERAL("\5\1\0\1\0\0\0\0\0\0")},
		{BYTES_LITERAL("\5\1\0\5\1\0\3\3a\0b\0\120"),
		 BYTES_LITERAL("\5\1\0\1\0\0\0\0\0\0")},
		{BYTES_LITERAL("\5\1\0\5\1\0\3\1a\0\0"), /* port 0 */
		 BYTES_LITERAL("\5\1\0\1\0\0\0\0\0\0")},
	};
	struct socks socks;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (take_all(&socks, rows[i].sent) != SOCKS_INVALID)
			fail_msg("row %zu is not invalid", i);
		assert_non_null(socks.reason);
		if (!bytes_equal(bytes_from(socks.refusal, socks.refusal_len),
				 rows[i].refusal))
			fail_msg("row %zu has another refusal", i);
	}
}

static void socks_leaves_what_follows_the_request(void **state)
{
	struct bytes input = LITERAL("\5\1\0" NAMED "GET /");
	struct socks socks = {0};

	(void)state;
	assert_int_equal(socks_take(&socks, &input), SOCKS_METHODS);
	assert_int_equal(socks_take(&socks, &input), SOCKS_REQUEST);
	assert_true(bytes_is(input, "GET /"));
}

static void socks_takes_the_longest_messages(void **state)
{
	uint8_t bytes[SOCKS_MESSAGE_MAX] = {1, 255};
	struct bytes input = LITERAL("\5\1\2");
	struct socks socks = {0};

	(void)state;
	bytes[2 + 255] = 255;
	assert_int_equal(socks_take(&socks, &input), SOCKS_METHODS);
	input = bytes_from(bytes, sizeof(bytes) - 1);
	assert_int_equal(socks_take(&socks, &input), SOCKS_MORE);
	input = bytes_from(bytes, sizeof(bytes));
	assert_int_equal(socks_take(&socks, &input), SOCKS_PASSWORD);
	assert_int_equal(socks.user.len, 255);
	assert_int_equal(socks.password.len, 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(socks_begins_with_its_version),
		cmocka_unit_test(
			socks_reads_a_name_and_both_kinds_of_addresses),
		cmocka_unit_test(
			socks_asks_for_a_password_where_one_can_be_given),
		cmocka_unit_test(
			socks_lets_nobody_go_without_a_password_that_is_needed),
		cmocka_unit_test(socks_answers_what_it_does_not_serve),
		cmocka_unit_test(socks_leaves_what_follows_the_request),
		cmocka_unit_test(socks_takes_the_longest_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
