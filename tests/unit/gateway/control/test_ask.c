#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/control/ask.h"

static void ask_rate_lets_through_so_many_a_second(void **state)
{
	struct control_rate rate = {0};
	unsigned taken = 0;

	(void)state;
	for (int i = 0; i < 50; i++) {
		taken += ask_rate_take(&rate, 10, 1000);
		rate.open = 0;
	}
	assert_int_equal(taken, 10);
	assert_false(ask_rate_take(&rate, 10, 1099));
	assert_true(ask_rate_take(&rate, 10, 1100));
	assert_false(ask_rate_take(&rate, 10, 1100));
	/* Never more than one second's worth at once. */
	rate.open = 0;
	for (taken = 0; ask_rate_take(&rate, 10, 90000); rate.open = 0)
		taken++;
	assert_int_equal(taken, 10);
}

static void ask_rate_counts_what_is_open(void **state)
{
	struct control_rate rate = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_true(
			ask_rate_take(&rate, 10, 1000 + (uint64_t)i * 1000));
	assert_int_equal(rate.open, 10);
	assert_false(ask_rate_take(&rate, 10, 60000));
	rate.open--;
	assert_true(ask_rate_take(&rate, 10, 60000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ask_rate_lets_through_so_many_a_second),
		cmocka_unit_test(ask_rate_counts_what_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
