#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/control/params.h"

#define ALL 127

static void params_reads_every_parameter(void **state)
{
	struct params params;
	struct err err;

	(void)state;
	assert_int_equal(params_read(bytes_str("after=7&limit=9&session=s-1&"
					       "kind=push.report&denied=1&"
					       "newest=0&reason=ended"),
				     ALL, &params, &err),
			 0);
	assert_int_equal(params.given, ALL);
	assert_int_equal(params.after, 7);
	assert_int_equal(params.limit, 9);
	assert_true(bytes_is(params.session, "s-1"));
	assert_true(bytes_is(params.kind, "push.report"));
	assert_true(bytes_is(params.reason, "ended"));
	assert_true(params.denied);
	assert_false(params.newest);
}

static void params_may_be_none(void **state)
{
	struct params params;

	(void)state;
	assert_int_equal(params_read(bytes_str(""), 0, &params, NULL), 0);
	assert_int_equal(params.given, 0);
}

static void params_refuses_what_is_not_one(void **state)
{
	static const struct {
		const char *query;
		unsigned allowed;
	} rows[] = {
		{"after", ALL},
		{"after=", ALL},
		{"after=-1", ALL},
		{"after=1x", ALL},
		{"limit=0", ALL},
		{"after=1&after=1", ALL},
		{"denied=2", ALL},
		{"denied=true", ALL},
		{"session=a%2e", ALL},
		{"session=a/b", ALL},
		{"session=a=b", ALL},
		{"=1", ALL},
		{"&", ALL},
		{"after=1&", ALL},
		{"unknown=1", ALL},
		{"after=1", PARAM_SESSION},
		{"after=9999999999999999999", ALL},
	};
	struct params params;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (params_read(bytes_str(rows[i].query), rows[i].allowed,
				&params, &err) == 0)
			fail_msg("%s was accepted", rows[i].query);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(params_reads_every_parameter),
		cmocka_unit_test(params_may_be_none),
		cmocka_unit_test(params_refuses_what_is_not_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
