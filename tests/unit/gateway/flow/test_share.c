#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/flow/share.h"

/* What somebody who takes all he can has then. */
static uint64_t take(uint64_t own_max, uint64_t *used, uint64_t max)
{
	uint64_t own = 0;

	while (share_has_room(own, own_max, *used, max)) {
		own++;
		(*used)++;
	}
	return own;
}

static void a_session_alone_takes_what_it_may(void **state)
{
	static const struct {
		uint64_t own_max, max;
	} rows[] = {{256, 2048}, {1024, 4096}, {3, 8}, {1, 2}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t used = 0;

		assert_int_equal(take(rows[i].own_max, &used, rows[i].max),
				 rows[i].own_max);
	}
}

static void many_who_take_all_they_can_leave_room_for_one_more(void **state)
{
	uint64_t used = 0, before = 256;

	(void)state;
	for (size_t i = 0; i < 20; i++) {
		uint64_t own = take(256, &used, 2048);

		assert_true(own > 0 && own <= before);
		before = own;
	}
	assert_true(2048 - used > 100);
	assert_true(take(256, &used, 2048) > 10);
}

static void nothing_is_left_of_what_is_used_up(void **state)
{
	(void)state;
	assert_false(share_has_room(0, 256, 2048, 2048));
	assert_true(share_has_room(0, 256, 2047, 2048));
	assert_false(share_has_room(1, 256, 2047, 2048));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_alone_takes_what_it_may),
		cmocka_unit_test(
			many_who_take_all_they_can_leave_room_for_one_more),
		cmocka_unit_test(nothing_is_left_of_what_is_used_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
