#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "sandbox-host/api/range.h"

static const struct {
	const char *field;
	uint64_t size;
	enum range_kind kind;
	uint64_t from, len;
} rows[] = {
	{"", 10, RANGE_ALL, 0, 10},
	{"bytes=0-0", 10, RANGE_PART, 0, 1},
	{"bytes=2-5", 10, RANGE_PART, 2, 4},
	{"BYTES = 2-5", 10, RANGE_PART, 2, 4},
	{"bytes=2-", 10, RANGE_PART, 2, 8},
	{"bytes=2-99", 10, RANGE_PART, 2, 8},
	{"bytes=-3", 10, RANGE_PART, 7, 3},
	{"bytes=-30", 10, RANGE_PART, 0, 10},
	{"bytes=9-9223372036854775807", 10, RANGE_PART, 9, 1},
	{"bytes=10-", 10, RANGE_NONE, 0, 0},
	{"bytes=5-4", 10, RANGE_NONE, 0, 0},
	{"bytes=-0", 10, RANGE_NONE, 0, 0},
	{"bytes=-", 10, RANGE_NONE, 0, 0},
	{"bytes=", 10, RANGE_NONE, 0, 0},
	{"bytes=x-2", 10, RANGE_NONE, 0, 0},
	{"bytes=1-x", 10, RANGE_NONE, 0, 0},
	{"bytes=99999999999999999999-", 10, RANGE_NONE, 0, 0},
	{"bytes=0-", 0, RANGE_NONE, 0, 0},
	{"bytes=-1", 0, RANGE_NONE, 0, 0},
	{"bytes=0-1,3-4", 10, RANGE_ALL, 0, 10},
	{"pages=1-2", 10, RANGE_ALL, 0, 10},
	{"bytes", 10, RANGE_ALL, 0, 10},
};

static void ranges_are_cut_to_what_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct range range;

		assert_int_equal(range_parse(bytes_str(rows[i].field),
					     rows[i].size, &range),
				 rows[i].kind);
		if (rows[i].kind == RANGE_NONE)
			continue;
		assert_int_equal(range.from, rows[i].from);
		assert_int_equal(range.len, rows[i].len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_cut_to_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
