#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/state.h"

static void only_these_changes_are_possible(void **state)
{
	static const struct {
		enum host_state from, to;
	} possible[] = {
		{HOST_PENDING, HOST_RUNNING},
		{HOST_PENDING, HOST_STOPPING},
		{HOST_PENDING, HOST_FAILED},
		{HOST_RUNNING, HOST_PAUSING},
		{HOST_RUNNING, HOST_STOPPING},
		{HOST_RUNNING, HOST_FAILED},
		{HOST_PAUSING, HOST_PAUSED},
		{HOST_PAUSING, HOST_RUNNING},
		{HOST_PAUSING, HOST_STOPPING},
		{HOST_PAUSING, HOST_FAILED},
		{HOST_PAUSED, HOST_RESUMING},
		{HOST_PAUSED, HOST_STOPPING},
		{HOST_PAUSED, HOST_FAILED},
		{HOST_RESUMING, HOST_RUNNING},
		{HOST_RESUMING, HOST_STOPPING},
		{HOST_RESUMING, HOST_FAILED},
		{HOST_STOPPING, HOST_FAILED},
		{HOST_STOPPING, HOST_TERMINATED},
	};
	unsigned found = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(possible); i++)
		assert_true(state_may_become(possible[i].from, possible[i].to));
	for (unsigned from = 0; from < HOST_STATE_MAX; from++)
		for (unsigned to = 0; to < HOST_STATE_MAX; to++)
			found += state_may_become((enum host_state)from,
						  (enum host_state)to);
	assert_int_equal(found, ARRAY_SIZE(possible));
}

static void every_state_can_end_and_ends_are_final(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HOST_STATE_MAX; i++) {
		enum host_state at = (enum host_state)i;
		bool is_end = at == HOST_TERMINATED || at == HOST_FAILED;

		assert_int_equal(state_is_over(at), is_end);
		assert_int_equal(state_accepts(at, STATE_KILL), !is_end);
		assert_int_equal(state_may_become(at, HOST_FAILED), !is_end);
	}
}

static void requests_are_accepted_where_they_make_sense(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HOST_STATE_MAX; i++) {
		enum host_state at = (enum host_state)i;

		assert_int_equal(state_accepts(at, STATE_USE),
				 at == HOST_RUNNING);
		assert_int_equal(state_accepts(at, STATE_LOOK),
				 at == HOST_RUNNING || at == HOST_PAUSING ||
					 at == HOST_PAUSED ||
					 at == HOST_RESUMING);
		assert_int_equal(state_accepts(at, STATE_PAUSE),
				 at == HOST_RUNNING);
		assert_int_equal(state_accepts(at, STATE_RESUME),
				 at == HOST_PAUSED);
	}
}

static void states_are_found_by_their_names_alone(void **state)
{
	enum host_state found;

	(void)state;
	for (unsigned i = 0; i < HOST_STATE_MAX; i++) {
		const char *name = host_state_name((enum host_state)i);

		assert_int_equal(host_state_find(bytes_str(name), &found), 0);
		assert_int_equal(found, i);
	}
	assert_int_equal(host_state_find(bytes_str("running"), &found), -1);
	assert_int_equal(host_state_find(bytes_str(""), &found), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_these_changes_are_possible),
		cmocka_unit_test(every_state_can_end_and_ends_are_final),
		cmocka_unit_test(requests_are_accepted_where_they_make_sense),
		cmocka_unit_test(states_are_found_by_their_names_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
