#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/pktline.h"

static void pktline_knows_each_kind(void **state)
{
	static const struct {
		const char *input;
		enum pktline_kind kind;
		size_t used;
		const char *payload;
	} rows[] = {
		{"0000", PKTLINE_FLUSH, 4, ""},
		{"0000rest", PKTLINE_FLUSH, 4, ""},
		{"0001", PKTLINE_DELIM, 4, ""},
		{"0002", PKTLINE_END, 4, ""},
		{"0004", PKTLINE_DATA, 4, ""},
		{"0005a", PKTLINE_DATA, 5, "a"},
		{"000ahello\n0000", PKTLINE_DATA, 10, "hello\n"},
		{"", PKTLINE_MORE, 0, ""},
		{"0", PKTLINE_MORE, 0, ""},
		{"000", PKTLINE_MORE, 0, ""},
		{"0005", PKTLINE_MORE, 0, ""},
		{"000ahello", PKTLINE_MORE, 0, ""},
		{"fff0", PKTLINE_MORE, 0, ""},
		{"0003", PKTLINE_INVALID, 0, ""},
		{"fff1", PKTLINE_INVALID, 0, ""},
		{"ffff", PKTLINE_INVALID, 0, ""},
		{"000A", PKTLINE_INVALID, 0, ""},
		{"000g", PKTLINE_INVALID, 0, ""},
		{"x", PKTLINE_INVALID, 0, ""},
		{"00 5a", PKTLINE_INVALID, 0, ""},
		{"-005a", PKTLINE_INVALID, 0, ""},
		{"0x05a", PKTLINE_INVALID, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes payload;
		size_t used;

		assert_int_equal(
			pktline_next(bytes_str(rows[i].input), &payload, &used),
			rows[i].kind);
		assert_int_equal(used, rows[i].used);
		assert_true(bytes_is(payload, rows[i].payload));
	}
}

static void pktline_refuses_a_nul_in_its_length(void **state)
{
	struct bytes payload;
	size_t used;

	(void)state;
	assert_int_equal(pktline_next(bytes_from("0\0"
						 "00",
						 4),
				      &payload, &used),
			 PKTLINE_INVALID);
}

static void pktline_reads_what_it_writes(void **state)
{
	auto_type(buf_release) struct buf out;
	struct bytes payload;
	size_t used;

	(void)state;
	buf_init(&out, 1000);
	assert_int_equal(pktline_add(&out, bytes_str("ab")), 0);
	assert_int_equal(pktline_add_format(&out, "ng %s %d\n", "x", 7), 0);
	assert_int_equal(pktline_add_delim(&out), 0);
	assert_int_equal(pktline_add_flush(&out), 0);
	assert_true(bytes_is(buf_view(&out), "0006ab000bng x 7\n00010000"));
	assert_int_equal(pktline_next(buf_view(&out), &payload, &used),
			 PKTLINE_DATA);
	buf_consume(&out, used);
	assert_int_equal(pktline_next(buf_view(&out), &payload, &used),
			 PKTLINE_DATA);
	assert_true(bytes_is(payload, "ng x 7\n"));
}

static void pktline_writes_up_to_the_largest_packet(void **state)
{
	auto_type(buf_release) struct buf out;
	auto_free uint8_t *data = calloc(1, PKTLINE_MAX);
	struct bytes payload;
	size_t used;

	(void)state;
	buf_init(&out, 1 << 20);
	assert_int_equal(
		pktline_add(&out, bytes_from(data, PKTLINE_PAYLOAD_MAX + 1)),
		-1);
	assert_int_equal(buf_len(&out), 0);
	assert_int_equal(
		pktline_add(&out, bytes_from(data, PKTLINE_PAYLOAD_MAX)), 0);
	assert_memory_equal(out.data, "fff0", 4);
	assert_int_equal(pktline_next(buf_view(&out), &payload, &used),
			 PKTLINE_DATA);
	assert_int_equal(used, PKTLINE_MAX);
	assert_int_equal(pktline_add_format(&out, "%*d", PKTLINE_MAX, 1), -1);
	assert_int_equal(
		pktline_add_format(&out, "%*d", PKTLINE_PAYLOAD_MAX, 1), 0);
	assert_int_equal(buf_len(&out), 2 * PKTLINE_MAX);
}

static void pktline_adds_all_or_nothing(void **state)
{
	(void)state;
	for (size_t max = 0; max < 8; max++) {
		auto_type(buf_release) struct buf out;

		buf_init(&out, max);
		assert_int_equal(pktline_add(&out, bytes_str("abcd")), -1);
		assert_int_equal(pktline_add_format(&out, "%s", "abcd"), -1);
		assert_int_equal(pktline_add_band(&out, 1, bytes_str("abc")),
				 -1);
		assert_int_equal(buf_len(&out), 0);
	}
}

static void pktline_fills_a_buffer_to_the_last_byte(void **state)
{
	auto_type(buf_release) struct buf first, second, third;

	(void)state;
	buf_init(&first, 8);
	buf_init(&second, 8);
	buf_init(&third, 8);
	assert_int_equal(pktline_add(&first, bytes_str("abcd")), 0);
	assert_int_equal(pktline_add_format(&second, "%s", "abcd"), 0);
	assert_int_equal(pktline_add_band(&third, 1, bytes_str("abc")), 0);
	assert_true(bytes_is(buf_view(&third), "0008\1abc"));
}

static void pktline_splits_a_band_at_65515_bytes(void **state)
{
	auto_type(buf_release) struct buf out;
	auto_free uint8_t *data = calloc(1, 200000);
	static const size_t lens[] = {65515, 65515, 65515, 200000 - 3 * 65515};

	(void)state;
	buf_init(&out, 1 << 20);
	assert_int_equal(pktline_add_band(&out, 2, bytes_from(data, 0)), 0);
	assert_int_equal(buf_len(&out), 0);
	assert_int_equal(pktline_add_band(&out, 2, bytes_from(data, 200000)),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		struct bytes payload;
		size_t used;

		assert_int_equal(pktline_next(buf_view(&out), &payload, &used),
				 PKTLINE_DATA);
		assert_int_equal(payload.len, lens[i] + 1);
		assert_int_equal(payload.data[0], 2);
		buf_consume(&out, used);
	}
	assert_int_equal(buf_len(&out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pktline_knows_each_kind),
		cmocka_unit_test(pktline_refuses_a_nul_in_its_length),
		cmocka_unit_test(pktline_reads_what_it_writes),
		cmocka_unit_test(pktline_writes_up_to_the_largest_packet),
		cmocka_unit_test(pktline_adds_all_or_nothing),
		cmocka_unit_test(pktline_fills_a_buffer_to_the_last_byte),
		cmocka_unit_test(pktline_splits_a_band_at_65515_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
