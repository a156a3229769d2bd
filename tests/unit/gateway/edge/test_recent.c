#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/edge/recent.h"

static void denials_are_json_lines_the_oldest_first(void **state)
{
	static struct recent recent;
	const struct record first = {
		.kind = RECORD_REQUEST,
		.constraint = CONSTRAINT_approval_pending,
		.host = bytes_str("a.example"),
		.port = 443,
		.method = bytes_str("POST"),
		.path = bytes_str("/x\"\x1b\xff"),
		.rule = bytes_str("ask"),
		.approval = bytes_str("p-1"),
	};
	const struct record second = {
		.kind = RECORD_DNS,
		.constraint = CONSTRAINT_host_not_allowed,
		.host = bytes_str("b.example"),
	};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 1 << 16);
	assert_int_equal(recent_write(NULL, &out), 0);
	assert_int_equal(buf_len(&out), 0);
	recent_add(&recent, &first, 1763751600123);
	recent_add(&recent, &second, 1763751600124);
	assert_int_equal(recent_write(&recent, &out), 0);
	assert_string_equal(
		buf_str(&out),
		"{\"time\":\"2025-11-21T19:00:00.123Z\",\"activity\":"
		"\"request\",\"constraint\":\"approval_pending\",\"method\":"
		"\"POST\",\"host\":\"a.example\",\"port\":443,\"path\":"
		"\"/x\\\"??\",\"rule\":\"ask\",\"proposal\":\"p-1\"}\n"
		"{\"time\":\"2025-11-21T19:00:00.124Z\",\"activity\":\"dns\","
		"\"constraint\":\"host_not_allowed\",\"host\":\"b.example\","
		"\"port\":0}\n");
}

static void denials_keep_the_last_ones_alone(void **state)
{
	static struct recent recent;
	auto_type(buf_release) struct buf out;
	char path[16];

	(void)state;
	buf_init(&out, 1 << 20);
	for (int i = 0; i < RECENT_MAX + 3; i++) {
		struct record record = {.constraint =
						CONSTRAINT_path_not_allowed};

		(void)snprintf(path, sizeof(path), "/%d.", i);
		record.path = bytes_str(path);
		recent_add(&recent, &record, 1);
	}
	assert_int_equal(recent_write(&recent, &out), 0);
	assert_null(strstr(buf_str(&out), "\"/2.\""));
	assert_non_null(strstr(buf_str(&out), "\"/3.\""));
	assert_non_null(strstr(buf_str(&out), "\"/66.\""));
}

static void denials_cut_what_is_long(void **state)
{
	static struct recent recent;
	static char text[4096];
	const struct record record = {
		.constraint = CONSTRAINT_path_not_allowed,
		.host = bytes_from(text, sizeof(text)),
		.path = bytes_from(text, sizeof(text)),
		.rule = bytes_from(text, sizeof(text)),
		.detail = bytes_from(text, sizeof(text)),
	};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 1 << 20);
	memset(text, '"', sizeof(text));
	recent_add(&recent, &record, 1);
	assert_int_equal(recent_write(&recent, &out), 0);
	assert_true(buf_len(&out) < RECENT_LINE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denials_are_json_lines_the_oldest_first),
		cmocka_unit_test(denials_keep_the_last_ones_alone),
		cmocka_unit_test(denials_cut_what_is_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
