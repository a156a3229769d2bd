#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"

static void clock_formats_what_it_parses(void **state)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{951782400000, "2000-02-29T00:00:00.000Z"},
		{951868799999, "2000-02-29T23:59:59.999Z"},
		{951868800000, "2000-03-01T00:00:00.000Z"},
		{1795287659123, "2026-11-21T19:00:59.123Z"},
		{4107542400000, "2100-03-01T00:00:00.000Z"},
		{253402300799999, "9999-12-31T23:59:59.999Z"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[CLOCK_TEXT_SIZE];
		uint64_t ms;

		clock_format(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(clock_parse(bytes_str(text), &ms), 0);
		assert_true(ms == rows[i].ms);
	}
}

static void clock_agrees_with_libc_on_every_day(void **state)
{
	(void)state;
	for (uint64_t day = 0; day < 160000; day++) {
		time_t seconds = (time_t)(day * 86400 + day % 86400);
		char ours[CLOCK_TEXT_SIZE], theirs[CLOCK_TEXT_SIZE];
		struct tm tm;
		uint64_t ms;

		assert_non_null(gmtime_r(&seconds, &tm));
		assert_int_equal(strftime(theirs, sizeof(theirs),
					  "%Y-%m-%dT%H:%M:%S.000Z", &tm),
				 CLOCK_TEXT_SIZE - 1);
		clock_format((uint64_t)seconds * 1000, ours);
		assert_string_equal(ours, theirs);
		assert_int_equal(clock_parse(bytes_str(ours), &ms), 0);
		assert_true(ms == (uint64_t)seconds * 1000);
	}
}

static void clock_clamps_what_has_no_text(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	clock_format(UINT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999Z");
}

static void clock_parses_any_fraction(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {
		{"1970-01-01T00:00:01Z", 1000},
		{"1970-01-01T00:00:01.5Z", 1500},
		{"1970-01-01T00:00:01.05Z", 1050},
		{"1970-01-01T00:00:01.1239999Z", 1123},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ms;

		assert_int_equal(clock_parse(bytes_str(rows[i].text), &ms), 0);
		assert_true(ms == rows[i].ms);
	}
}

static void clock_refuses_what_is_no_moment(void **state)
{
	static const char *const rows[] = {
		"",
		"1970-01-01",
		"1970-01-01T00:00:00",
		"1970-01-01T00:00:00z",
		"1970-01-01t00:00:00Z",
		"1970-01-01 00:00:00Z",
		"1970-01-01T00:00:00+00:00",
		"1970-01-01T00:00:00.Z",
		"1970-01-01T00:00:00.1",
		"1970-01-01T00:00:00.1x",
		"1970-01-01T00:00:00.1ZZ",
		"1970-01-01T00:00:00ZZ",
		"1970-01-01T00:00:60Z",
		"1970-01-01T00:60:00Z",
		"1970-01-01T24:00:00Z",
		"1970-00-01T00:00:00Z",
		"1970-13-01T00:00:00Z",
		"1970-01-00T00:00:00Z",
		"1970-04-31T00:00:00Z",
		"1971-02-29T00:00:00Z",
		"2100-02-29T00:00:00Z",
		"1969-12-31T23:59:59Z",
		"+970-01-01T00:00:00Z",
		"1970-1-01T00:00:00Z",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ms;

		assert_int_equal(clock_parse(bytes_str(rows[i]), &ms), -1);
	}
}

static void clock_runs_and_does_not_go_back(void **state)
{
	uint64_t first = clock_monotonic_ms();

	(void)state;
	assert_true(clock_monotonic_ms() >= first);
	/* 2026 at least: milliseconds, not seconds. */
	assert_true(clock_wall_ms() > 1767225600000);
}

static void clock_before_the_build_is_known(void **state)
{
	static const uint64_t year_ms = 366ull * 24 * 3600 * 1000;

	(void)state;
	assert_false(clock_is_before_build(clock_wall_ms()));
	assert_false(clock_is_before_build(clock_wall_ms() + 50 * year_ms));
	assert_true(clock_is_before_build(0));
	assert_true(clock_is_before_build(clock_wall_ms() - 50 * year_ms));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_formats_what_it_parses),
		cmocka_unit_test(clock_agrees_with_libc_on_every_day),
		cmocka_unit_test(clock_clamps_what_has_no_text),
		cmocka_unit_test(clock_parses_any_fraction),
		cmocka_unit_test(clock_refuses_what_is_no_moment),
		cmocka_unit_test(clock_runs_and_does_not_go_back),
		cmocka_unit_test(clock_before_the_build_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
