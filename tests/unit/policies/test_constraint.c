#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policies/constraint.h"

static void constraint_names_lead_back_to_their_constraint(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CONSTRAINT_MAX; i++) {
		enum constraint constraint = (enum constraint)i;

		assert_int_equal(constraint_from_name(bytes_str(
					 constraint_name(constraint))),
				 constraint);
		assert_true(strlen(constraint_text(constraint)) > 0);
	}
	assert_int_equal(constraint_from_name(bytes_str("no_such")),
			 CONSTRAINT_MAX);
	assert_int_equal(constraint_from_name(bytes_str("")), CONSTRAINT_MAX);
}

static void constraint_status_is_an_error_for_all_but_none(void **state)
{
	(void)state;
	assert_int_equal(constraint_status(CONSTRAINT_none), 200);
	for (unsigned i = 1; i < CONSTRAINT_MAX; i++) {
		unsigned status = constraint_status((enum constraint)i);

		assert_true(status >= 400 && status < 600);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			constraint_names_lead_back_to_their_constraint),
		cmocka_unit_test(
			constraint_status_is_an_error_for_all_but_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
