#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdalign.h>
#include <string.h>

#include "common/arena.h"
#include "common/arena_spare.h"
#include "common/cleanup.h"

static void arena_gives_zeroed_aligned_memory(void **state)
{
	auto_type(arena_release) struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t len = 0; len < 6000; len += 37) {
		uint8_t *at = arena_alloc(&arena, len);

		assert_non_null(at);
		assert_int_equal((uintptr_t)at % alignof(max_align_t), 0);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(at[i], 0);
		memset(at, 0xff, len);
	}
}

static void arena_zeroes_again_after_a_reset(void **state)
{
	auto_type(arena_release) struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 40; i++) {
			uint8_t *at = arena_alloc(&arena, 512);

			assert_non_null(at);
			assert_int_equal(at[0] | at[511], 0);
			memset(at, 0xff, 512);
		}
		arena_reset(&arena);
		assert_int_equal(arena.used, 0);
	}
}

/* Blocks go from one arena to another. */
static void arena_gives_zeroed_memory_that_another_has_released(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		struct arena arenas[20];

		for (size_t i = 0; i < ARRAY_SIZE(arenas); i++) {
			uint8_t *at;

			arena_init(&arenas[i], 1 << 20);
			at = arena_alloc(&arenas[i], 3000);
			assert_non_null(at);
			for (size_t byte = 0; byte < 3000; byte++)
				assert_int_equal(at[byte], 0);
			memset(at, 0xff, 3000);
		}
		for (size_t i = 0; i < ARRAY_SIZE(arenas); i++) {
			arena_release(&arenas[i]);
			assert_null(arenas[i].blocks);
		}
	}
}

static void arena_does_without_the_memory_of_released_ones(void **state)
{
	auto_type(arena_release) struct arena arena;
	uint8_t *at;

	(void)state;
	for (size_t turn = 0; turn < 3; turn++) {
		arena_init(&arena, 1 << 20);
		at = arena_alloc(&arena, 3000);
		assert_non_null(at);
		assert_int_equal(at[0], 0);
		memset(at, 0xff, 3000);
		arena_spare_free();
		assert_int_equal(at[2999], 0xff);
		arena_release(&arena);
		arena_spare_free();
	}
}

static void arena_keeps_its_bound(void **state)
{
	auto_type(arena_release) struct arena arena;

	(void)state;
	arena_init(&arena, 64);
	assert_null(arena_alloc(&arena, 65));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_array(&arena, SIZE_MAX / 2, 4));
	assert_non_null(arena_alloc(&arena, 48));
	assert_null(arena_alloc(&arena, 17));
	assert_non_null(arena_alloc(&arena, 16));
	assert_null(arena_alloc(&arena, 0));
	arena_reset(&arena);
	assert_non_null(arena_alloc(&arena, 64));
}

static void arena_copies_text(void **state)
{
	auto_type(arena_release) struct arena arena;

	(void)state;
	arena_init(&arena, 64);
	assert_true(bytes_is(arena_copy(&arena, bytes_str("abc")), "abc"));
	assert_null(arena_copy(&arena, bytes_from(NULL, 0)).data);
	assert_string_equal(arena_str(&arena, bytes_str("abc")), "abc");
	assert_string_equal(arena_format(&arena, "%d-%s", 7, "x"), "7-x");
	assert_null(
		arena_copy(&arena, bytes_from("0123456789abcdefg", 17)).data);
	assert_null(arena_str(&arena, bytes_from("0123456789abcdef", 16)));
	assert_null(arena_format(&arena, "%s", "0123456789abcdef"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_gives_zeroed_aligned_memory),
		cmocka_unit_test(arena_zeroes_again_after_a_reset),
		cmocka_unit_test(
			arena_gives_zeroed_memory_that_another_has_released),
		cmocka_unit_test(
			arena_does_without_the_memory_of_released_ones),
		cmocka_unit_test(arena_keeps_its_bound),
		cmocka_unit_test(arena_copies_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
