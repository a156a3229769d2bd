#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "sandbox-host/api/share.h"

#define OWN_MAX	  32
#define TOTAL_MAX 256

/* What count sandboxes that take all they get have together; each is asked in
 * turn until none gets more. */
static size_t take_all(size_t count)
{
	size_t own[TOTAL_MAX] = {0}, total = 0, before;

	do {
		before = total;
		for (size_t i = 0; i < count; i++)
			if (share_allows(own[i], OWN_MAX, total, TOTAL_MAX)) {
				own[i]++;
				total++;
			}
	} while (total > before);
	for (size_t i = 0; i < count; i++)
		assert_true(own[i] <= OWN_MAX);
	return total;
}

static void one_has_its_own_bound(void **state)
{
	(void)state;
	assert_int_equal(take_all(1), OWN_MAX);
	assert_int_equal(take_all(2), 2 * OWN_MAX);
}

static void many_leave_something_for_the_next(void **state)
{
	(void)state;
	for (size_t count = 1; count < TOTAL_MAX; count++) {
		size_t total = take_all(count);

		assert_true(total < TOTAL_MAX);
		assert_true(share_allows(0, OWN_MAX, total, TOTAL_MAX));
		/* And most of it is used. */
		if (count > TOTAL_MAX / OWN_MAX)
			assert_true(total > TOTAL_MAX / 2);
	}
}

static void there_is_an_end(void **state)
{
	(void)state;
	assert_false(share_allows(0, OWN_MAX, TOTAL_MAX, TOTAL_MAX));
	assert_false(share_allows(OWN_MAX, OWN_MAX, OWN_MAX, TOTAL_MAX));
	assert_true(share_allows(0, OWN_MAX, TOTAL_MAX - 1, TOTAL_MAX));
	assert_false(share_allows(1, OWN_MAX, TOTAL_MAX - 1, TOTAL_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_has_its_own_bound),
		cmocka_unit_test(many_leave_something_for_the_next),
		cmocka_unit_test(there_is_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
