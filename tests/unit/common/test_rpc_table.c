#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/rpc_table.h"

static int add(struct rpc_table *table, uint32_t id, uint64_t expires_ms)
{
	const struct rpc_entry entry = {.id = id, .expires_ms = expires_ms};

	if (rpc_table_reserve(table) < 0)
		return -1;
	rpc_table_add(table, &entry);
	return 0;
}

static void table_finds_what_was_added_and_nothing_else(void **state)
{
	auto_type(rpc_table_release) struct rpc_table table = {0};

	(void)state;
	assert_null(rpc_table_find(&table, 1));
	assert_int_equal(add(&table, 1, 0), 0);
	assert_int_equal(rpc_table_find(&table, 1)->id, 1);
	assert_null(rpc_table_find(&table, 2));
	assert_null(rpc_table_find(&table, 0));
	assert_false(rpc_table_remove(&table, 2, NULL));
	assert_true(rpc_table_remove(&table, 1, NULL));
	assert_null(rpc_table_find(&table, 1));
}

static void table_has_a_bound(void **state)
{
	auto_type(rpc_table_release) struct rpc_table table = {0};

	(void)state;
	for (uint32_t id = 1; id <= RPC_PENDING_MAX; id++)
		assert_int_equal(add(&table, id, 0), 0);
	assert_int_equal(add(&table, RPC_PENDING_MAX + 1, 0), -1);
	assert_true(rpc_table_remove(&table, 77, NULL));
	assert_int_equal(add(&table, RPC_PENDING_MAX + 1, 0), 0);
}

/* Against a plain array, with removals in an order that leaves gaps. */
static void table_stays_whole_under_any_order(void **state)
{
	enum { IDS = 600 };
	auto_type(rpc_table_release) struct rpc_table table = {0};
	bool is_there[IDS + 1] = {false};
	uint32_t seed = 12345;
	size_t count = 0;

	(void)state;
	for (unsigned round = 0; round < 100000; round++) {
		uint32_t id;

		seed = seed * 1664525 + 1013904223;
		id = (seed >> 8) % IDS + 1;
		/* Spread some, so that chains cross. */
		if (is_there[id])
			assert_true(rpc_table_remove(&table, id << 7, NULL));
		else
			assert_int_equal(add(&table, id << 7, 0), 0);
		is_there[id] = !is_there[id];
		count += is_there[id] ? 1 : (size_t)-1;
		assert_int_equal(table.count, count);
		if (round % 500 > 0)
			continue;
		for (id = 1; id <= IDS; id++)
			assert_int_equal(!!rpc_table_find(&table, id << 7),
					 is_there[id]);
	}
}

static void table_names_those_that_are_due(void **state)
{
	auto_type(rpc_table_release) struct rpc_table table = {0};
	uint32_t ids[8];

	(void)state;
	assert_true(rpc_table_next_expiry(&table) == UINT64_MAX);
	for (uint32_t id = 1; id <= 5; id++)
		assert_int_equal(add(&table, id, 100 * id), 0);
	assert_int_equal(rpc_table_due(&table, 99, ids, 8), 0);
	assert_int_equal(rpc_table_due(&table, 100, ids, 8), 1);
	assert_int_equal(ids[0], 1);
	assert_int_equal(rpc_table_due(&table, 10000, ids, 2), 2);
	assert_true(rpc_table_next_expiry(&table) == 100);
	assert_true(rpc_table_remove(&table, 1, NULL));
	assert_true(rpc_table_next_expiry(&table) == 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_finds_what_was_added_and_nothing_else),
		cmocka_unit_test(table_has_a_bound),
		cmocka_unit_test(table_stays_whole_under_any_order),
		cmocka_unit_test(table_names_those_that_are_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
