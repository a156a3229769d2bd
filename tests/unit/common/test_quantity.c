#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/quantity.h"

static void quantity_is_a_whole_number_and_its_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {
		{"1ms", 1},
		{"90s", 90000},
		{"10m", 600000},
		{"2h", 7200000},
		{"7d", 604800000},
		{"", 0},
		{"s", 0},
		{"5", 0},
		{"0s", 0},
		{"05s", 0},
		{"-5s", 0},
		{"+5s", 0},
		{" 5s", 0},
		{"5 s", 0},
		{"5s ", 0},
		{"1.5h", 0},
		{"1h30m", 0},
		{"5S", 0},
		{"5sec", 0},
		{"5w", 0},
		{"9999999999999999d", 0},
		{"5KiB", 0},
		{"999999999999999d", 0},
	};
	uint64_t ms;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int rc = quantity_time(bytes_str(rows[i].text), &ms);

		assert_int_equal(rc, rows[i].ms ? 0 : -1);
		if (rows[i].ms)
			assert_int_equal(ms, rows[i].ms);
	}
}

static void quantity_of_bytes_has_units_of_1024(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_int_equal(quantity_size(bytes_str("64KiB"), &bytes), 0);
	assert_int_equal(bytes, 65536);
	assert_int_equal(quantity_size(bytes_str("1TiB"), &bytes), 0);
	assert_int_equal(bytes, UINT64_C(1) << 40);
	assert_int_equal(quantity_size(bytes_str("64KB"), &bytes), -1);
	assert_int_equal(quantity_size(bytes_str("64s"), &bytes), -1);
}

static void quantity_is_told_in_the_largest_unit(void **state)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{0, "0"},
		{1, "1ms"},
		{1000, "1s"},
		{1500, "1500ms"},
		{60000, "1m"},
		{90000, "90s"},
		{3600000, "1h"},
		{5400000, "90m"},
		{86400000, "1d"},
		{604800000, "7d"},
		{604801000, "604801s"},
	};
	char text[QUANTITY_TEXT_SIZE];
	uint64_t ms;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		quantity_time_text(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
		/* What is told can be said. */
		if (rows[i].ms) {
			assert_int_equal(quantity_time(bytes_str(text), &ms),
					 0);
			assert_int_equal(ms, rows[i].ms);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantity_is_a_whole_number_and_its_unit),
		cmocka_unit_test(quantity_of_bytes_has_units_of_1024),
		cmocka_unit_test(quantity_is_told_in_the_largest_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
