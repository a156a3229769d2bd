#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/ledger/permit.h"

static const char *check(enum role role, uint8_t kind, uint16_t constraint)
{
	const struct record one = {.kind = kind, .constraint = constraint};
	const struct msg_records records = {&one, 1};

	return permit_check(role, &records);
}

/* Which kinds there are, and who alone says them. */
static void permit_keeps_each_role_to_its_kinds_of_record(void **state)
{
	static const enum role says[RECORD_KIND_MAX] = {
		[RECORD_SESSION_CREATED] = ROLE_WARDEN,
		[RECORD_SESSION_ENDED] = ROLE_WARDEN,
		[RECORD_CONNECTION] = ROLE_EDGE,
		[RECORD_REQUEST] = ROLE_EDGE,
		[RECORD_RESPONSE] = ROLE_EDGE,
		[RECORD_PUSH] = ROLE_EDGE,
		[RECORD_PUSH_REPORT] = ROLE_EDGE,
		[RECORD_SECRET_USE] = ROLE_COURIER,
		[RECORD_SECRET_REFLECTED] = ROLE_COURIER,
		[RECORD_SECRET_CHANGED] = ROLE_VAULT,
		[RECORD_DNS] = ROLE_EDGE,
		[RECORD_SANDBOX] = ROLE_CONTROL,
		[RECORD_PROCESS] = ROLE_WARDEN,
		[RECORD_ADMIN] = ROLE_CONTROL,
		/* The ledger itself, of what is decided there. */
		[RECORD_APPROVAL] = ROLE_MAX,
	};

	(void)state;
	for (uint8_t kind = 0; kind < RECORD_KIND_MAX; kind++)
		for (unsigned role = 0; role < ROLE_MAX; role++)
			assert_int_equal(check((enum role)role, kind, 0) ==
						 NULL,
					 role == says[kind]);
	assert_non_null(check(ROLE_WARDEN, RECORD_KIND_MAX, 0));
	assert_non_null(check(ROLE_WARDEN, UINT8_MAX, 0));
}

/* What is wrong stands behind something that is right. */
static void permit_looks_at_all_of_them(void **state)
{
	const struct record two[] = {
		{.kind = RECORD_REQUEST},
		{.kind = RECORD_ADMIN},
	};
	const struct msg_records both = {two, 2}, first = {two, 1};

	(void)state;
	assert_non_null(permit_check(ROLE_EDGE, &both));
	assert_null(permit_check(ROLE_EDGE, &first));
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
		cmocka_unit_test(permit_keeps_each_role_to_its_kinds_of_record),
		cmocka_unit_test(permit_looks_at_all_of_them),
		cmocka_unit_test(permit_knows_the_constraints),
		cmocka_unit_test(permit_allows_no_records_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
