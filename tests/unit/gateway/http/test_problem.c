/* Refusals as people and agents read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/http/problem.h"

#define TEXT(literal) bytes_from(literal, sizeof(literal) - 1)

static bool has(const struct buf *out, const char *text)
{
	return bytes_find_bytes(buf_view(out), bytes_str(text), 0) >= 0;
}

static void problem_says_all_that_is_known(void **state)
{
	static const struct bytes allowed[] = {BYTES_LITERAL("a.example"),
					       BYTES_LITERAL("*.b.example")};
	const struct refusal refusal = {
		.constraint = CONSTRAINT_host_not_allowed,
		.rule = TEXT("default"),
		.detail = TEXT("no rule allows this host: c.example:443"),
		.allowed = allowed,
		.allowed_count = 2,
		.try_instead = TEXT("use an allowed host"),
	};
	const struct problem problem = {
		.refusal = &refusal,
		.session = TEXT("s-1"),
		.request_id = TEXT("r-2"),
	};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, PROBLEM_BYTES_MAX);
	assert_int_equal(problem_write(&out, &problem), 0);
	assert_string_equal(
		buf_str(&out),
		"HTTP/1.1 403 egress denied: host_not_allowed\r\n"
		"Content-Type: application/problem+json\r\n"
		"Content-Length: 390\r\n"
		"Cache-Control: no-store\r\n\r\n"
		"{\"type\":\"urn:sallyport:constraint:host_not_allowed\","
		"\"title\":\"no rule allows this host\",\"status\":403,"
		"\"constraint\":\"host_not_allowed\","
		"\"detail\":\"no rule allows this host: c.example:443\","
		"\"rule\":\"default\",\"session\":\"s-1\","
		"\"request_id\":\"r-2\","
		"\"allowed\":[\"a.example\",\"*.b.example\"],"
		"\"try\":\"use an allowed host\",\"message\":\"egress "
		"denied: no rule allows this host: c.example:443; use an "
		"allowed host\"}\n");
}

static void problem_leaves_out_what_is_not_known(void **state)
{
	const struct refusal refusal = {
		.constraint = CONSTRAINT_dns_failed,
	};
	const struct problem problem = {.refusal = &refusal, .close = true};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, PROBLEM_BYTES_MAX);
	assert_int_equal(problem_write(&out, &problem), 0);
	assert_true(has(&out, "HTTP/1.1 502 egress denied: dns_failed\r\n"));
	assert_true(has(&out, "\r\nConnection: close\r\n\r\n{"));
	assert_true(has(&out, "\"constraint\":\"dns_failed\"}\n"));
}

static void problem_for_git_is_a_text_in_lines(void **state)
{
	static const struct bytes allowed[] = {BYTES_LITERAL("a.example"),
					       BYTES_LITERAL("b\n.example")};
	const struct refusal refusal = {
		.constraint = CONSTRAINT_host_not_allowed,
		.rule = TEXT("default"),
		.detail = TEXT("no rule allows \x1b[31mthis\r\n\xc3\xa4"),
		.allowed = allowed,
		.allowed_count = 2,
		.try_instead = TEXT("use an allowed host"),
	};
	const struct refusal bare = {.constraint = CONSTRAINT_dns_failed};
	struct problem problem = {
		.refusal = &refusal,
		.request_id = TEXT("r-2"),
		.is_for_git = true,
	};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, PROBLEM_BYTES_MAX);
	assert_int_equal(problem_write(&out, &problem), 0);
	assert_string_equal(buf_str(&out),
			    "HTTP/1.1 403 egress denied: host_not_allowed\r\n"
			    "Content-Type: text/plain; charset=utf-8\r\n"
			    "Content-Length: 150\r\n"
			    "Cache-Control: no-store\r\n\r\n"
			    "sallyport: host_not_allowed\n"
			    "  no rule allows ?[31mthis????\n"
			    "allowed: a.example\n"
			    "allowed: b?.example\n"
			    "try: use an allowed host\n"
			    "rule: default\n"
			    "request: r-2\n");
	buf_clear(&out);
	problem.refusal = &bare;
	assert_int_equal(problem_write(&out, &problem), 0);
	assert_true(has(&out, "sallyport: dns_failed\n"
			      "  the name did not resolve\n"
			      "request: r-2\n"));
}

static void problem_escapes_what_came_from_outside(void **state)
{
	const struct refusal refusal = {
		.constraint = CONSTRAINT_path_not_allowed,
		.detail = TEXT("\"\\\r\n\0\x7f\xc3\xa9\xff\xc0\x80|"),
	};
	const struct problem problem = {.refusal = &refusal};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, PROBLEM_BYTES_MAX);
	assert_int_equal(problem_write(&out, &problem), 0);
	assert_true(has(&out, "\"detail\":\"\\\"\\\\\\u000d\\u000a\\u0000"
			      "\\u007f\xc3\xa9\\ufffd\\ufffd\\ufffd|\""));
}

static void problem_adds_what_a_status_demands(void **state)
{
	static const struct {
		enum constraint constraint;
		unsigned retry_after_s;
		const char *field;
	} rows[] = {
		{CONSTRAINT_limit_rate, 7, "429 egress denied: limit_rate"},
		{CONSTRAINT_limit_rate, 7, "\r\nRetry-After: 7\r\n"},
		{CONSTRAINT_lease_invalid, 0,
		 "\r\nProxy-Authenticate: Basic realm=\"sallyport\"\r\n"},
		{CONSTRAINT_lease_invalid, 0,
		 "\r\nProxy-Authenticate: Bearer realm=\"sallyport\"\r\n"},
		{CONSTRAINT_method_unknown, 0, "\r\nAllow: GET, "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct refusal refusal = {.constraint =
							rows[i].constraint};
		const struct problem problem = {
			.refusal = &refusal,
			.retry_after_s = rows[i].retry_after_s,
		};
		auto_type(buf_release) struct buf out;

		buf_init(&out, PROBLEM_BYTES_MAX);
		assert_int_equal(problem_write(&out, &problem), 0);
		assert_true(has(&out, rows[i].field));
	}
}

static void problem_for_head_has_no_body(void **state)
{
	const struct refusal refusal = {.constraint = CONSTRAINT_timeout};
	const struct problem problem = {.refusal = &refusal, .is_head = true};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, PROBLEM_BYTES_MAX);
	assert_int_equal(problem_write(&out, &problem), 0);
	assert_true(bytes_ends_with(buf_view(&out), TEXT("\r\n\r\n")));
	assert_false(has(&out, "Content-Length: 0"));
}

static void problem_fits_its_bound_whatever_it_says(void **state)
{
	static uint8_t zeros[4096];
	struct bytes text = bytes_from(zeros, sizeof(zeros));
	struct bytes allowed[REFUSAL_ALLOWED_MAX + 5];
	const struct refusal refusal = {
		.constraint = CONSTRAINT_lease_invalid,
		.rule = text,
		.detail = text,
		.allowed = allowed,
		.allowed_count = ARRAY_SIZE(allowed),
		.try_instead = text,
	};
	const struct problem problem = {
		.refusal = &refusal,
		.session = text,
		.request_id = text,
		.retry_after_s = UINT32_MAX,
		.close = true,
	};
	auto_type(buf_release) struct buf out;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		allowed[i] = text;
	buf_init(&out, PROBLEM_BYTES_MAX);
	assert_int_equal(problem_write(&out, &problem), 0);
	buf_release(&out);
	buf_init(&out, 1024);
	assert_int_equal(problem_write(&out, &problem), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(problem_says_all_that_is_known),
		cmocka_unit_test(problem_leaves_out_what_is_not_known),
		cmocka_unit_test(problem_for_git_is_a_text_in_lines),
		cmocka_unit_test(problem_escapes_what_came_from_outside),
		cmocka_unit_test(problem_adds_what_a_status_demands),
		cmocka_unit_test(problem_for_head_has_no_body),
		cmocka_unit_test(problem_fits_its_bound_whatever_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
