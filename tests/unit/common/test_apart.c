#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/crypto.h>
#include <stdalign.h>
#include <string.h>

#include "common/apart.h"
#include "common/watched.h"

/* Where errors of memory are looked for all is the heap's. */
#define assert_apart(taken)   assert_int_equal(apart_has(taken), !IS_WATCHED)
#define assert_on_heap(taken) assert_false(apart_has(taken))

/* Does it hold len bytes? */
static void fill(uint8_t *taken, size_t len)
{
	for (size_t i = 0; i < len; i++)
		taken[i] = (uint8_t)(i * 7 + len);
}

static void assert_filled(const uint8_t *taken, size_t len, size_t with)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(taken[i], (uint8_t)(i * 7 + with));
}

static void apart_is_what_is_taken_while_it_is_set(void **state)
{
	static const size_t sizes[] = {1, 16, 32, 33, 500, 4096, APART_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *before = OPENSSL_malloc(sizes[i]), *taken, *after;

		apart_set(true);
		taken = OPENSSL_malloc(sizes[i]);
		apart_set(false);
		after = OPENSSL_malloc(sizes[i]);
		assert_on_heap(before);
		assert_apart(taken);
		assert_on_heap(after);
		fill(before, sizes[i]);
		fill(taken, sizes[i]);
		fill(after, sizes[i]);
		assert_filled(before, sizes[i], sizes[i]);
		assert_filled(taken, sizes[i], sizes[i]);
		OPENSSL_free(before);
		OPENSSL_free(taken);
		OPENSSL_free(after);
	}
}

/* As malloc's: what a compiler makes of OpenSSL may build on it. */
static void apart_pieces_are_aligned_as_the_heaps(void **state)
{
	(void)state;
	apart_set(true);
	for (size_t len = 1; len <= APART_MAX; len += 15) {
		uint8_t *first = OPENSSL_malloc(len);
		uint8_t *second = OPENSSL_malloc(len);

		assert_apart(first);
		assert_int_equal((uintptr_t)first % alignof(max_align_t), 0);
		assert_int_equal((uintptr_t)second % alignof(max_align_t), 0);
		OPENSSL_free(first);
		OPENSSL_free(second);
	}
	apart_set(false);
}

static void apart_leaves_large_pieces_to_the_heap(void **state)
{
	uint8_t *taken;

	(void)state;
	apart_set(true);
	taken = OPENSSL_malloc(APART_MAX + 1);
	assert_on_heap(taken);
	OPENSSL_free(taken);
	assert_null(OPENSSL_malloc(0));
	OPENSSL_free(NULL);
	apart_set(false);
}

static void apart_pieces_grow_with_what_is_in_them(void **state)
{
	static const size_t steps[] = {20, 32, 33, 3000, APART_MAX, 20000};
	uint8_t *taken;
	size_t had = 10;

	(void)state;
	apart_set(true);
	taken = OPENSSL_malloc(had);
	fill(taken, had);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		taken = OPENSSL_realloc(taken, steps[i]);
		assert_non_null(taken);
		assert_filled(taken, had, had);
		had = steps[i];
		fill(taken, had);
	}
	assert_on_heap(taken);
	taken = OPENSSL_realloc(taken, 40);
	assert_on_heap(taken);
	apart_set(false);
	assert_null(OPENSSL_realloc(taken, 0));
}

static void apart_pieces_that_grow_later_go_to_the_heap(void **state)
{
	uint8_t *taken;

	(void)state;
	apart_set(true);
	taken = OPENSSL_malloc(100);
	apart_set(false);
	assert_apart(taken);
	fill(taken, 100);
	taken = OPENSSL_realloc(taken, 2000);
	assert_on_heap(taken);
	assert_filled(taken, 100, 100);
	OPENSSL_free(taken);
}

static void apart_places_are_used_again(void **state)
{
	void *first, *again;

	(void)state;
	apart_set(true);
	first = OPENSSL_malloc(700);
	OPENSSL_free(first);
	again = OPENSSL_malloc(760);
	if (!IS_WATCHED)
		assert_ptr_equal(again, first);
	OPENSSL_free(again);
	apart_set(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apart_is_what_is_taken_while_it_is_set),
		cmocka_unit_test(apart_pieces_are_aligned_as_the_heaps),
		cmocka_unit_test(apart_leaves_large_pieces_to_the_heap),
		cmocka_unit_test(apart_pieces_grow_with_what_is_in_them),
		cmocka_unit_test(apart_pieces_that_grow_later_go_to_the_heap),
		cmocka_unit_test(apart_places_are_used_again),
	};

	apart_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
