#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"

static void buf_holds_its_bound_and_no_byte_more(void **state)
{
	auto_type(buf_release) struct buf buf;

	(void)state;
	buf_init(&buf, 4);
	assert_int_equal(buf_add_str(&buf, "abc"), 0);
	assert_int_equal(buf_add_str(&buf, "de"), -1);
	assert_true(bytes_is(buf_view(&buf), "abc"));
	assert_int_equal(buf_add_byte(&buf, 'd'), 0);
	assert_int_equal(buf_add_byte(&buf, 'e'), -1);
	assert_int_equal(buf_room(&buf), 0);
	assert_true(bytes_is(buf_view(&buf), "abcd"));
}

static void buf_terminates_even_when_it_is_full(void **state)
{
	auto_type(buf_release) struct buf buf;

	(void)state;
	buf_init(&buf, 4);
	assert_string_equal(buf_str(&buf), "");
	assert_int_equal(buf_add_str(&buf, "abcd"), 0);
	assert_string_equal(buf_str(&buf), "abcd");
	assert_int_equal(buf_len(&buf), 4);
}

static void buf_formats_up_to_its_bound(void **state)
{
	auto_type(buf_release) struct buf buf;

	(void)state;
	buf_init(&buf, 4);
	assert_int_equal(buf_add_format(&buf, "%d", 12345), -1);
	assert_int_equal(buf_len(&buf), 0);
	assert_int_equal(buf_add_format(&buf, "%d", 1234), 0);
	assert_true(bytes_is(buf_view(&buf), "1234"));
}

static void buf_is_a_queue_that_keeps_order(void **state)
{
	auto_type(buf_release) struct buf buf;
	uint8_t next_in = 0, next_out = 0;

	(void)state;
	buf_init(&buf, 1000);
	for (unsigned round = 0; round < 5000; round++) {
		for (unsigned i = 0; i < 7 && buf_room(&buf) > 0; i++)
			assert_int_equal(buf_add_byte(&buf, next_in++), 0);
		for (unsigned i = 0; i < 5; i++) {
			assert_memory_equal(buf_view(&buf).data, &next_out, 1);
			next_out++;
			buf_consume(&buf, 1);
		}
	}
	assert_true(buf.size <= 2048);
}

static void buf_reserve_refuses_what_passes_the_bound(void **state)
{
	auto_type(buf_release) struct buf buf;

	(void)state;
	buf_init(&buf, 100);
	assert_null(buf_reserve(&buf, 102));
	assert_null(buf_reserve(&buf, SIZE_MAX));
	assert_non_null(buf_reserve(&buf, 100));
	buf.max = SIZE_MAX;
	assert_null(buf_reserve(&buf, SIZE_MAX));
	assert_non_null(buf_reserve(&buf, 200));
}

static void buf_clear_keeps_memory_and_release_gives_it_back(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 100);
	assert_int_equal(buf_add_str(&buf, "abc"), 0);
	buf_clear(&buf);
	assert_int_equal(buf_len(&buf), 0);
	assert_true(buf.size > 0);
	buf_release(&buf);
	assert_null(buf.data);
	assert_int_equal(buf.max, 100);
	assert_int_equal(buf_add(&buf, bytes_from(NULL, 0)), 0);
	assert_null(buf.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_holds_its_bound_and_no_byte_more),
		cmocka_unit_test(buf_terminates_even_when_it_is_full),
		cmocka_unit_test(buf_formats_up_to_its_bound),
		cmocka_unit_test(buf_is_a_queue_that_keeps_order),
		cmocka_unit_test(buf_reserve_refuses_what_passes_the_bound),
		cmocka_unit_test(
			buf_clear_keeps_memory_and_release_gives_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
