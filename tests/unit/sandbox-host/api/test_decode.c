#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/api/decode.h"

#define ARENA_MAX 65536

static void pieces_are_decoded_or_refused(void **state)
{
	static const struct {
		const char *encoded, *piece; /* NULL: refused */
	} table[] = {
		{"a", "a"},	  {"a%20b", "a b"}, {"%C3%A9", "\xc3\xa9"},
		{"a+b", "a+b"},	  {"%2B", "+"},	    {"", NULL},
		{"%", NULL},	  {"%2", NULL},	    {"%zz", NULL},
		{"a%2fb", NULL},  {"a%00", NULL},   {"%25", "%"},
		{"%2e%2e", ".."}, {"a%2", NULL},
	};
	auto_type(arena_release) struct arena arena;
	struct bytes piece;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int result = decode_piece(&arena, bytes_str(table[i].encoded),
					  &piece);

		assert_int_equal(result, table[i].piece ? 0 : -1);
		if (table[i].piece)
			assert_true(bytes_is(piece, table[i].piece));
	}
}

static void pairs_of_a_query_come_in_order(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct bytes query = bytes_str("a=1&&b=x%26y+z&c&d=e=f&=v&");
	static const char *const wanted[][2] = {
		{"a", "1"}, {"b", "x&y z"}, {"c", ""}, {"d", "e=f"}, {"", "v"},
	};
	struct bytes name, value;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_int_equal(decode_pair(&arena, &query, &name, &value), 1);
		assert_true(bytes_is(name, wanted[i][0]));
		assert_true(bytes_is(value, wanted[i][1]));
	}
	assert_int_equal(decode_pair(&arena, &query, &name, &value), 0);
}

static void a_broken_escape_ends_a_query(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct bytes query = bytes_str("a=%4&b=1");
	struct bytes name, value;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	assert_int_equal(decode_pair(&arena, &query, &name, &value), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_decoded_or_refused),
		cmocka_unit_test(pairs_of_a_query_come_in_order),
		cmocka_unit_test(a_broken_escape_ends_a_query),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
