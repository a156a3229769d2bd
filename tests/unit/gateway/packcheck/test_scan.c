#include "tests/unit/gateway/packcheck/pack_maker.h"

#include "common/cleanup.h"
#include "gateway/packcheck/scan.h"

#define OBJECTS_MAX 10000
#define MIB	    ((size_t)1 << 20)

/* Scan it in pieces of that many bytes. The code of the failure. */
static int scan_in(struct bytes pack, size_t piece, bool *is_whole)
{
	struct pack_scan *scan = pack_scan_new(OBJECTS_MAX);
	struct err err = {0};
	int status = 0;

	assert_non_null(scan);
	for (size_t at = 0; at < pack.len && status == 0; at += piece)
		status = pack_scan_feed(scan, bytes_slice(pack, at, at + piece),
					&err);
	*is_whole = status == 0 && pack_scan_is_whole(scan);
	pack_scan_free(scan);
	return status == 0 ? ERR_NONE : (int)err.code;
}

/* Whole, and byte by byte, it is the same. */
static int scan_of(const struct buf *pack, bool *is_whole)
{
	bool is_whole_too;
	int code = scan_in(buf_view(pack), buf_len(pack), is_whole);

	if (buf_len(pack) < MIB / 16) {
		assert_int_equal(scan_in(buf_view(pack), 1, &is_whole_too),
				 code);
		assert_int_equal(is_whole_too, *is_whole);
	}
	return code;
}

#define ASSERT_SCAN(pack, code)                                                \
	do {                                                                   \
		bool whole_;                                                   \
		int code_ = scan_of(pack, &whole_);                            \
		assert_int_equal(code_, code);                                 \
		assert_int_equal(whole_, (code) == ERR_NONE);                  \
	} while (0)

static const struct bytes text = BYTES_LITERAL("some text, some text");

static void scan_reads_every_kind_of_entry(void **state)
{
	auto_type(buf_release) struct buf pack;
	uint8_t room[32];
	size_t base = 0;

	(void)state;
	make_head(&pack, 6);
	for (unsigned kind = MADE_COMMIT; kind <= MADE_TAG; kind++) {
		base = buf_len(&pack);
		make_object(&pack, kind, text);
	}
	base = buf_len(&pack) - base;
	make_entry(&pack, MADE_BY_PLACE, make_delta(room, 20, 1).len);
	make_place(&pack, base);
	make_body(&pack, make_delta(room, 20, 1));
	make_entry(&pack, MADE_BY_ID, make_delta(room, 20, 1).len);
	make_trailer(&pack);
	make_body(&pack, make_delta(room, 20, 1));
	make_trailer(&pack);
	ASSERT_SCAN(&pack, ERR_NONE);
}

static void scan_reads_a_pack_of_nothing(void **state)
{
	auto_type(buf_release) struct buf pack;

	(void)state;
	make_head(&pack, 0);
	make_trailer(&pack);
	ASSERT_SCAN(&pack, ERR_NONE);
	make_trailer(&pack);
	ASSERT_SCAN(&pack, ERR_INVALID);
}

static void scan_knows_what_is_no_pack(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		int code;
	} rows[] = {
		{0, 'p', ERR_INVALID},	 {4, 1, ERR_INVALID},
		{7, 4, ERR_INVALID},	 {7, 0, ERR_INVALID},
		{8, 1, ERR_TOO_LARGE},	 {12, 0x04, ERR_INVALID}, /* type 0 */
		{12, 0x54, ERR_INVALID},			  /* type 5 */
		{12, 0x3f, ERR_INVALID},  /* 15 bytes, and there are 20 */
		{14, 0x07, ERR_INVALID},  /* no zlib stream */
		{13, 0x7f, ERR_INVALID}}; /* more bytes than there are */

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf pack;
		bool is_whole;

		make_head(&pack, 1);
		make_object(&pack, MADE_BLOB, text);
		make_trailer(&pack);
		pack.data[rows[i].at] = rows[i].byte;
		if (scan_of(&pack, &is_whole) != rows[i].code)
			fail_msg("row %zu", i);
	}
}

static void scan_is_not_whole_when_it_is_cut(void **state)
{
	auto_type(buf_release) struct buf pack;
	size_t len;

	(void)state;
	make_head(&pack, 1);
	make_object(&pack, MADE_BLOB, text);
	make_trailer(&pack);
	len = buf_len(&pack);
	for (size_t cut = 1; cut < len; cut++) {
		bool is_whole;

		assert_int_equal(scan_in(bytes_slice(buf_view(&pack), 0, cut),
					 cut, &is_whole),
				 ERR_NONE);
		assert_false(is_whole);
	}
}

static void scan_wants_the_base_of_a_delta_to_be_an_entry(void **state)
{
	static const uint64_t places[] = {0, 1, 12, 13, 1 << 20, UINT64_MAX};
	uint8_t room[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		auto_type(buf_release) struct buf pack;

		make_head(&pack, 2);
		make_object(&pack, MADE_BLOB, text);
		make_entry(&pack, MADE_BY_PLACE, make_delta(room, 20, 1).len);
		make_place(&pack, places[i]);
		make_body(&pack, make_delta(room, 20, 1));
		make_trailer(&pack);
		ASSERT_SCAN(&pack, ERR_INVALID);
	}
}

static void scan_stops_at_a_chain_that_is_too_deep(void **state)
{
	uint8_t room[32];

	(void)state;
	for (size_t depth = SCAN_DEPTH_MAX; depth <= SCAN_DEPTH_MAX + 1;
	     depth++) {
		auto_type(buf_release) struct buf pack;
		bool is_whole;
		size_t base = 0;

		make_head(&pack, (uint32_t)depth + 1);
		base = buf_len(&pack);
		make_object(&pack, MADE_BLOB, bytes_slice(text, 0, 1));
		for (size_t i = 0; i < depth; i++) {
			size_t here = buf_len(&pack);

			make_entry(&pack, MADE_BY_PLACE,
				   make_delta(room, 1, 1).len);
			make_place(&pack, here - base);
			make_body(&pack, make_delta(room, 1, 1));
			base = here;
		}
		make_trailer(&pack);
		assert_int_equal(scan_of(&pack, &is_whole),
				 depth > SCAN_DEPTH_MAX ? ERR_TOO_LARGE
							: ERR_NONE);
	}
}

/* 32 MiB of nothing, in 32 KiB. */
static void add_zeros(struct buf *pack)
{
	static uint8_t zeros[32 << 20];

	make_object(pack, MADE_BLOB, bytes_from(zeros, sizeof(zeros)));
}

static void scan_stops_at_a_bomb(void **state)
{
	(void)state;
	for (uint32_t count = 8; count <= 9; count++) {
		auto_type(buf_release) struct buf pack;
		bool is_whole;

		make_head(&pack, count);
		for (uint32_t i = 0; i < count; i++)
			add_zeros(&pack);
		make_trailer(&pack);
		assert_int_equal(scan_of(&pack, &is_whole),
				 count > 8 ? ERR_TOO_LARGE : ERR_NONE);
	}
}

static void scan_counts_what_deltas_make(void **state)
{
	uint8_t room[32];

	(void)state;
	for (uint32_t count = 2; count <= 3; count++) {
		auto_type(buf_release) struct buf pack;

		make_head(&pack, count);
		for (uint32_t i = 0; i < count; i++) {
			struct bytes delta = make_delta(room, 1, 120 * MIB);

			make_entry(&pack, MADE_BY_ID, delta.len);
			make_trailer(&pack);
			make_body(&pack, delta);
		}
		make_trailer(&pack);
		ASSERT_SCAN(&pack, count > 2 ? ERR_TOO_LARGE : ERR_NONE);
	}
}

static void scan_stops_before_it_inflates_what_is_too_large(void **state)
{
	auto_type(buf_release) struct buf pack;
	auto_type(buf_release) struct buf delta;
	bool is_whole;
	uint8_t room[32];

	(void)state;
	make_head(&pack, 1);
	make_entry(&pack, MADE_BLOB, SCAN_OBJECT_MAX + 1);
	assert_int_equal(scan_of(&pack, &is_whole), ERR_TOO_LARGE);
	make_head(&delta, 1);
	make_entry(&delta, MADE_BY_ID,
		   make_delta(room, 1, SCAN_OBJECT_MAX + 1).len);
	make_trailer(&delta);
	make_body(&delta, make_delta(room, 1, SCAN_OBJECT_MAX + 1));
	assert_int_equal(scan_of(&delta, &is_whole), ERR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_reads_every_kind_of_entry),
		cmocka_unit_test(scan_reads_a_pack_of_nothing),
		cmocka_unit_test(scan_knows_what_is_no_pack),
		cmocka_unit_test(scan_is_not_whole_when_it_is_cut),
		cmocka_unit_test(scan_wants_the_base_of_a_delta_to_be_an_entry),
		cmocka_unit_test(scan_stops_at_a_chain_that_is_too_deep),
		cmocka_unit_test(scan_stops_at_a_bomb),
		cmocka_unit_test(scan_counts_what_deltas_make),
		cmocka_unit_test(
			scan_stops_before_it_inflates_what_is_too_large),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
