#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox-host/api/pace.h"

/* How many of wanted requests a client has at one time. */
static size_t take(struct pace *pace, unsigned client, uint64_t now_ms,
		   size_t wanted)
{
	size_t got = 0;

	while (got < wanted && pace_take(pace, client, now_ms))
		got++;
	return got;
}

static void one_client_has_half_of_a_second(void **state)
{
	static struct pace pace;

	(void)state;
	assert_int_equal(take(&pace, pace_key(0), 5000, PACE_MAX),
			 PACE_MAX / 2);
	assert_int_equal(take(&pace, pace_key(0), 5000 + PACE_MS - 1, 1), 0);
	assert_int_equal(take(&pace, pace_key(0), 5000 + PACE_MS, PACE_MAX),
			 PACE_MAX / 2);
}

static void who_asks_all_the_time_leaves_something_for_the_next(void **state)
{
	static struct pace pace;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_true(take(&pace, pace_key(i), 1, PACE_MAX) > 0);
	assert_int_equal(take(&pace, pace_box(bytes_str("sb-rare")), 1, 1), 1);
}

static void however_many_sandboxes_ask_who_has_a_key_is_served(void **state)
{
	static struct pace pace;
	char name[16];
	size_t got = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "sb-%u", i);
		got += take(&pace, pace_box(bytes_str(name)), 1, PACE_MAX);
	}
	assert_int_equal(got, PACE_TOKENS_MAX);
	assert_true(take(&pace, pace_key(1), 1, PACE_MAX) > PACE_MAX / 10);
	/* A second later they have theirs again. */
	assert_true(take(&pace, pace_box(bytes_str("sb-0")), 1 + PACE_MS,
			 PACE_MAX) > PACE_MAX / 4);
}

static size_t hold(struct pace_held *held, unsigned client, size_t max)
{
	size_t got = 0;

	while (got <= max && pace_hold(held, client, max))
		got++;
	return got;
}

static void tokens_leave_connections_for_each_other_and_for_keys(void **state)
{
	static struct pace_held held;
	unsigned one = pace_box(bytes_str("sb-one"));
	unsigned two = pace_box(bytes_str("sb-two"));

	(void)state;
	assert_int_equal(hold(&held, one, 64), 24);
	assert_int_equal(hold(&held, two, 64), 12);
	/* Keys have what is left of all 64, and no bound of their own. */
	assert_int_equal(hold(&held, pace_key(0), 64), 65);
	pace_let_go(&held, pace_key(0));
	/* What is over is another's. */
	for (size_t i = 0; i < 24; i++)
		pace_let_go(&held, one);
	assert_int_equal(hold(&held, two, 64), 12);
	assert_int_equal(held.tokens, 24);
}

static void keys_and_sandboxes_are_clients_of_their_own(void **state)
{
	static const char *const names[] = {"sb-a", "sb-b", "sb-c", ""};
	unsigned seen[API_KEYS_MAX + 4];
	size_t count = 0;

	(void)state;
	for (unsigned i = 0; i < API_KEYS_MAX; i++)
		seen[count++] = pace_key(i);
	for (size_t i = 0; i < 4; i++)
		seen[count++] = pace_box(bytes_str(names[i]));
	for (size_t i = 0; i < count; i++) {
		assert_true(seen[i] < PACE_CLIENTS_MAX);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(seen[i], seen[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_client_has_half_of_a_second),
		cmocka_unit_test(
			who_asks_all_the_time_leaves_something_for_the_next),
		cmocka_unit_test(
			however_many_sandboxes_ask_who_has_a_key_is_served),
		cmocka_unit_test(
			tokens_leave_connections_for_each_other_and_for_keys),
		cmocka_unit_test(keys_and_sandboxes_are_clients_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
