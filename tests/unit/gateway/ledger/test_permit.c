#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/ledger/permit.h"

static const char *check(enum role role, uint8_t kind, uint16_t constraint)
{
	/* What is wrong stands behind something that is right. */
	const struct record two[] = {
		{.kind = RECORD_REQUEST},
		{.kind = kind, .constraint = constraint},
	};
	const struct msg_records records = {two, 2};

	return permit_check(role, &records);
}

static void permit_keeps_an_edge_to_its_kinds_of_record(void **state)
{
	static const bool edge_may[RECORD_KIND_MAX] = {
		[RECORD_CONNECTION] = true,  [RECORD_REQUEST] = true,
		[RECORD_RESPONSE] = true,    [RECORD_PUSH] = true,
		[RECORD_PUSH_REPORT] = true, [RECORD_DNS] = true,
	};

	(void)state;
	for (uint8_t kind = 0; kind < RECORD_KIND_MAX; kind++) {
		assert_int_equal(check(ROLE_EDGE, kind, 0) == NULL,
				 edge_may[kind]);
		/* The twin: who is no edge may say them all. */
		assert_null(check(ROLE_COURIER, kind, 0));
		assert_null(check(ROLE_CONTROL, kind, 0));
	}
}

static void permit_knows_the_constraints(void **state)
{
	(void)state;
	assert_null(check(ROLE_EDGE, RECORD_REQUEST, CONSTRAINT_MAX - 1));
	assert_non_null(check(ROLE_EDGE, RECORD_REQUEST, CONSTRAINT_MAX));
	assert_non_null(check(ROLE_CONTROL, RECORD_ADMIN, UINT16_MAX));
}

static void permit_allows_no_records_at_all(void **state)
{
	const struct msg_records none = {0};

	(void)state;
	assert_null(permit_check(ROLE_EDGE, &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permit_keeps_an_edge_to_its_kinds_of_record),
		cmocka_unit_test(permit_knows_the_constraints),
		cmocka_unit_test(permit_allows_no_records_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
