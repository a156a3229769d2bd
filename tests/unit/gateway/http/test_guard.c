/* The guard's own promises: bounds, and bytes that come one at a time. */
#include "common/cleanup.h"
#include "gateway/http/guard.h"
#include "heads.h"

#define START "GET / HTTP/1.1\r\nHost: a\r\n"

/* START, then count lines "X: yyy" of line_len bytes in all, then the end.
 * The caller frees it. */
static struct bytes head_of(size_t count, size_t line_len)
{
	size_t start = sizeof(START) - 1;
	size_t len = start + count * line_len + 2;
	uint8_t *text = malloc(len);

	assert_non_null(text);
	memset(text, 'y', len);
	memcpy(text, START, start);
	for (size_t i = 0; i < count; i++) {
		uint8_t *line = text + start + i * line_len;

		memcpy(line, "X: ", 3);
		memcpy(line + line_len - 2, "\r\n", 2);
	}
	memcpy(text + len - 2, "\r\n", 2);
	return bytes_from(text, len);
}

static enum guard_result scan_head_of(size_t count, size_t line_len,
				      struct guard *guard)
{
	struct bytes text = head_of(count, line_len);
	enum guard_result result;
	size_t head_len;

	guard_init(guard, GUARD_REQUEST);
	result = scan_by(guard, text, 1000, &head_len);
	free((void *)(uintptr_t)text.data);
	return result;
}

static void guard_bounds_line_block_and_fields(void **state)
{
	static const struct {
		size_t count, line_len;
		enum guard_result result;
	} rows[] = {
		{99, 10, GUARD_COMPLETE},
		{100, 10, GUARD_INVALID}, /* with Host: 101 */
		{1, HEAD_LINE_MAX, GUARD_COMPLETE},
		{1, HEAD_LINE_MAX + 1, GUARD_INVALID},
		{4, (HEAD_BYTES_MAX - sizeof(START) - 1) / 4, GUARD_COMPLETE},
		{4, HEAD_BYTES_MAX / 4, GUARD_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct guard guard;

		assert_int_equal(
			scan_head_of(rows[i].count, rows[i].line_len, &guard),
			rows[i].result);
		if (rows[i].result == GUARD_INVALID)
			assert_int_equal(guard.fault.constraint,
					 CONSTRAINT_request_too_large);
	}
}

static void guard_refuses_a_line_that_never_ends(void **state)
{
	static const char *const starts[] = {"GET /", START "Name",
					     START "X: "};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		static uint8_t text[HEAD_BYTES_MAX];
		struct guard guard;
		size_t head_len;

		memset(text, 'y', sizeof(text));
		memcpy(text, starts[i], strlen(starts[i]));
		guard_init(&guard, GUARD_REQUEST);
		assert_int_equal(
			guard_scan(&guard, bytes_from(text, 1024), &head_len),
			GUARD_MORE);
		assert_int_equal(guard_scan(&guard,
					    bytes_from(text, sizeof(text)),
					    &head_len),
				 GUARD_INVALID);
		assert_int_equal(guard.fault.constraint,
				 CONSTRAINT_request_too_large);
		assert_true(guard.scanned <= HEAD_LINE_MAX + sizeof(START));
	}
}

static void guard_refuses_a_bad_byte_before_its_line_ends(void **state)
{
	static const struct bytes bad[] = {
		BYTES_LITERAL("GET /\x01"),	BYTES_LITERAL("\n"),
		BYTES_LITERAL("\x16\x03\x01"),	BYTES_LITERAL(START "X\x01"),
		BYTES_LITERAL(START "X: \x7f"), BYTES_LITERAL(START " "),
		BYTES_LITERAL(START "\rX"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct guard guard;
		size_t head_len;

		guard_init(&guard, GUARD_REQUEST);
		assert_int_equal(
			guard_scan(&guard,
				   bytes_slice(bad[i], 0, bad[i].len - 1),
				   &head_len),
			bad[i].len == 3 ? GUARD_INVALID : GUARD_MORE);
		assert_int_equal(guard_scan(&guard, bad[i], &head_len),
				 GUARD_INVALID);
		/* It stays so. */
		assert_int_equal(
			guard_scan(&guard, TEXT(START "\r\n"), &head_len),
			GUARD_INVALID);
	}
}

static void guard_wants_more_until_the_last_byte(void **state)
{
	static const struct bytes text = BYTES_LITERAL(START "X: y\r\n\r\n");

	(void)state;
	for (size_t n = 0; n < text.len; n++) {
		struct guard guard;
		size_t head_len;

		guard_init(&guard, GUARD_REQUEST);
		assert_int_equal(
			guard_scan(&guard, bytes_slice(text, 0, n), &head_len),
			GUARD_MORE);
		assert_int_equal(guard_scan(&guard, text, &head_len),
				 GUARD_COMPLETE);
		assert_int_equal(head_len, text.len);
	}
}

static void guard_leaves_what_follows_the_head_alone(void **state)
{
	static const struct bytes text =
		BYTES_LITERAL(START "\r\n\0\n\r garbage");
	struct guard guard;
	size_t head_len;

	(void)state;
	guard_init(&guard, GUARD_REQUEST);
	assert_int_equal(guard_scan(&guard, text, &head_len), GUARD_COMPLETE);
	assert_int_equal(head_len, sizeof(START "\r\n") - 1);
	assert_int_equal(guard_scan(&guard, text, &head_len), GUARD_COMPLETE);
	assert_int_equal(head_len, sizeof(START "\r\n") - 1);
}

static void guard_says_what_delimits_the_message(void **state)
{
	struct guard guard;
	size_t head_len;

	(void)state;
	guard_init(&guard, GUARD_REQUEST);
	assert_int_equal(scan_by(&guard,
				 TEXT("POST http://a/ HTTP/1.0\r\nHost: a\r\n"
				      "Content-Length: 12\r\n"
				      "Connection: keep-alive, close\r\n"
				      "Expect: 100-continue\r\n"
				      "Upgrade: x\r\n\r\n"),
				 1, &head_len),
			 GUARD_COMPLETE);
	assert_true(guard.facts.is_http10 && guard.facts.names_host);
	assert_true(guard.facts.has_length && !guard.facts.is_chunked);
	assert_int_equal(guard.facts.length, 12);
	assert_true(guard.facts.says_close && guard.facts.says_keep_alive);
	assert_true(guard.facts.expects_continue && guard.facts.has_upgrade);
	assert_int_equal(guard.facts.hosts, 1);
	assert_int_equal(guard.fields, 5);
}

static void guard_scans_trailers_piece_by_piece(void **state)
{
	static const struct {
		struct bytes text;
		enum guard_result result;
	} rows[] = {
		{BYTES_LITERAL("\r\n"), GUARD_COMPLETE},
		{BYTES_LITERAL("Host: a\r\nHost: b\r\n\r\n"), GUARD_COMPLETE},
		{BYTES_LITERAL("Content-Length: x\r\n\r\n"), GUARD_COMPLETE},
		{BYTES_LITERAL("Content-Length: x\r\n"), GUARD_MORE},
		{BYTES_LITERAL("X: y\n\r\n"), GUARD_INVALID},
		{BYTES_LITERAL("X: y\r\n z\r\n\r\n"), GUARD_INVALID},
		{BYTES_LITERAL("X : y\r\n\r\n"), GUARD_INVALID},
		{BYTES_LITERAL(": y\r\n\r\n"), GUARD_INVALID},
		{BYTES_LITERAL("\n"), GUARD_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum guard_result result = GUARD_MORE;
		struct guard guard;

		guard_init(&guard, GUARD_TRAILER);
		for (size_t n = 0; n < rows[i].text.len; n++) {
			struct bytes byte = bytes_slice(rows[i].text, n, n + 1);

			if (result == GUARD_MORE)
				result = guard_scan_trailer(&guard, &byte);
		}
		assert_int_equal(result, rows[i].result);
	}
}

static void guard_bounds_trailers(void **state)
{
	static uint8_t text[GUARD_TRAILER_MAX + 2];
	struct bytes input = bytes_from(text, sizeof(text));
	struct guard guard;

	(void)state;
	for (size_t i = 0; i + 5 <= sizeof(text); i += 5)
		memcpy(text + i, "X:y\r\n", 5);
	guard_init(&guard, GUARD_TRAILER);
	assert_int_equal(guard_scan_trailer(&guard, &input), GUARD_INVALID);
	for (size_t i = 0; i + 100 <= sizeof(text); i += 100) {
		memset(text + i, 'y', 98);
		memcpy(text + i, "X:", 2);
		memcpy(text + i + 98, "\r\n", 2);
	}
	guard_init(&guard, GUARD_TRAILER);
	input = bytes_from(text, 8100);
	assert_int_equal(guard_scan_trailer(&guard, &input), GUARD_MORE);
	input = bytes_from(text, 100);
	assert_int_equal(guard_scan_trailer(&guard, &input), GUARD_INVALID);
	assert_int_equal(guard.fault.constraint, CONSTRAINT_request_too_large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guard_bounds_line_block_and_fields),
		cmocka_unit_test(guard_refuses_a_line_that_never_ends),
		cmocka_unit_test(guard_refuses_a_bad_byte_before_its_line_ends),
		cmocka_unit_test(guard_wants_more_until_the_last_byte),
		cmocka_unit_test(guard_leaves_what_follows_the_head_alone),
		cmocka_unit_test(guard_says_what_delimits_the_message),
		cmocka_unit_test(guard_scans_trailers_piece_by_piece),
		cmocka_unit_test(guard_bounds_trailers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
