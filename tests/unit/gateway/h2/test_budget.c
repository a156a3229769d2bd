#include "gateway/h2/budget.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void budget_ends_a_flood_and_lets_ordinary_use_pass(void **state)
{
	struct h2_budget budget;

	(void)state;
	h2_budget_init(&budget, 1000);
	for (int i = 0; i < H2_FRAMES_MAX; i++)
		assert_true(h2_budget_frame(&budget, 1000));
	assert_false(h2_budget_frame(&budget, 1000));
	/* The other bucket is its own. */
	for (int i = 0; i < H2_RESETS_MAX; i++)
		assert_true(h2_budget_reset(&budget, 1000));
	assert_false(h2_budget_reset(&budget, 1000));
}

static void budget_fills_with_time_and_no_further_than_its_bound(void **state)
{
	struct h2_budget budget;

	(void)state;
	h2_budget_init(&budget, 0);
	while (h2_budget_frame(&budget, 0))
		continue;
	for (int i = 0; i < H2_FRAMES_PER_S; i++)
		assert_true(h2_budget_frame(&budget, 1000));
	assert_false(h2_budget_frame(&budget, 1000));
	for (int i = 0; i < H2_FRAMES_MAX; i++)
		assert_true(h2_budget_frame(&budget, UINT64_MAX / 2));
	assert_false(h2_budget_frame(&budget, UINT64_MAX / 2));
}

static void budget_is_earned_by_data_but_not_by_crumbs(void **state)
{
	struct h2_budget budget;

	(void)state;
	h2_budget_init(&budget, 0);
	while (h2_budget_frame(&budget, 0))
		continue;
	h2_budget_earn(&budget, 1, true);
	assert_false(h2_budget_frame(&budget, 0));
	h2_budget_earn(&budget, 1, false);
	h2_budget_earn(&budget, H2_EARNS_FROM, true);
	for (int i = 0; i < 2 * H2_FRAMES_EARNED; i++)
		assert_true(h2_budget_frame(&budget, 0));
	assert_false(h2_budget_frame(&budget, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			budget_ends_a_flood_and_lets_ordinary_use_pass),
		cmocka_unit_test(
			budget_fills_with_time_and_no_further_than_its_bound),
		cmocka_unit_test(budget_is_earned_by_data_but_not_by_crumbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
