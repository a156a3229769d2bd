#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/dense.h"
#include "common/watched.h"

#define SIZE 200
#define MANY 1000

/* Never freed: what dense_give_back() knows stays there. */
static struct dense things = {.size = SIZE};
static uint8_t *taken[MANY];

static void take_all(void)
{
	for (size_t i = 0; i < MANY; i++) {
		taken[i] = dense_take(&things, SIZE);
		assert_non_null(taken[i]);
		memset(taken[i], 0xff, SIZE);
	}
}

/* Those that the rest leaves. */
static void give_all_but(size_t each)
{
	for (size_t i = 0; i < MANY; i++) {
		if (each > 0 && i % each == 0)
			continue;
		dense_give(&things, taken[i]);
		taken[i] = NULL;
	}
}

/* How many pages of the first MANY places have memory. */
static size_t pages_in_use(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *from = (uint8_t *)((uintptr_t)things.used / page * page);
	uint8_t *end = things.places + (size_t)MANY * SIZE;
	size_t count = ((size_t)(end - from) + page - 1) / page;
	unsigned char in_memory[64] = {0};
	size_t used = 0;

	if (!things.used)
		return 0;
	assert_in_range(count, 1, sizeof(in_memory));
	assert_int_equal(mincore(from, count * page, in_memory), 0);
	for (size_t i = 0; i < count; i++)
		used += in_memory[i] & 1;
	return used;
}

static void dense_gives_zeroed_memory_each_time(void **state)
{
	static const uint8_t zeroes[SIZE];

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < MANY; i++) {
			taken[i] = dense_take(&things, SIZE);
			assert_non_null(taken[i]);
			assert_int_equal((uintptr_t)taken[i] % 8, 0);
			assert_memory_equal(taken[i], zeroes, SIZE);
			memset(taken[i], 0xff, SIZE);
		}
		give_all_but(0);
		if (round == 1)
			dense_give_back();
	}
}

static void dense_leaves_what_is_in_use_as_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		taken[i] = dense_take(&things, SIZE);
		assert_non_null(taken[i]);
		memset(taken[i], (int)(i & 0xff), SIZE);
	}
	for (size_t i = 0; i < MANY; i++) {
		if (i % 37 == 0)
			continue;
		dense_give(&things, taken[i]);
		taken[i] = NULL;
	}
	dense_give_back();
	for (size_t i = 0; i < MANY; i += 37) {
		for (size_t at = 0; at < SIZE; at++)
			assert_int_equal(taken[i][at], i & 0xff);
		dense_give(&things, taken[i]);
		taken[i] = NULL;
	}
}

/* With ASan each is the heap's. */
static void dense_takes_the_first_free_place(void **state)
{
	(void)state;
	take_all();
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(dense_has(&things, taken[i]), !IS_WATCHED);
		if (!IS_WATCHED)
			assert_ptr_equal(taken[i], taken[0] + i * SIZE);
	}
	dense_give(&things, take_ptr(&taken[700]));
	dense_give(&things, take_ptr(&taken[3]));
	taken[3] = dense_take(&things, SIZE);
	taken[700] = dense_take(&things, SIZE);
	if (!IS_WATCHED) {
		assert_ptr_equal(taken[3], taken[0] + (size_t)3 * SIZE);
		assert_ptr_equal(taken[700], taken[0] + (size_t)700 * SIZE);
	}
	give_all_but(0);
}

/* Four stay, on at most two pages each; one page has the bits. */
static void dense_gives_back_the_pages_that_nobody_uses(void **state)
{
	size_t full, few;

	(void)state;
	take_all();
	full = pages_in_use();
	give_all_but(250);
	dense_give_back();
	few = pages_in_use();
	for (size_t i = 0; i < MANY; i += 250)
		dense_give(&things, taken[i]);
	dense_give_back();
	if (IS_WATCHED)
		return;
	assert_in_range(full, 49, 51);
	assert_in_range(few, 4, 9);
	assert_int_equal(pages_in_use(), 1);
}

static void dense_has_the_heap_for_more_and_for_what_does_not_fit(void **state)
{
	static struct dense small = {.size = 8};
	static void *all[DENSE_PLACES_MAX + 2];
	uint8_t *large = dense_take(&small, 9);

	(void)state;
	assert_non_null(large);
	assert_false(dense_has(&small, large));
	dense_give(&small, large);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		all[i] = dense_take(&small, 8);
		assert_non_null(all[i]);
		assert_int_equal(dense_has(&small, all[i]),
				 !IS_WATCHED && i < DENSE_PLACES_MAX);
	}
	/* A place that is free again is taken before the heap. */
	dense_give(&small, all[5]);
	all[5] = dense_take(&small, 8);
	assert_int_equal(dense_has(&small, all[5]), !IS_WATCHED);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		dense_give(&small, all[i]);
	dense_give(&small, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dense_gives_zeroed_memory_each_time),
		cmocka_unit_test(dense_leaves_what_is_in_use_as_it_is),
		cmocka_unit_test(dense_takes_the_first_free_place),
		cmocka_unit_test(dense_gives_back_the_pages_that_nobody_uses),
		cmocka_unit_test(
			dense_has_the_heap_for_more_and_for_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
