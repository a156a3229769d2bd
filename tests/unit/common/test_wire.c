#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/cleanup.h"
#include "common/wire.h"

struct item {
	struct bytes name;
	uint16_t weight;
};
static const struct wire_field item_fields[] = {
	WIRE_TEXT(struct item, name, 8),
	WIRE_U16(struct item, weight),
};
static const struct wire_schema item_schema =
	WIRE_SCHEMA("item", struct item, item_fields);

struct group {
	struct item *items;
	size_t items_count;
};
static const struct wire_field group_fields[] = {
	WIRE_LIST(struct group, items, 3, &item_schema),
};
static const struct wire_schema group_schema =
	WIRE_SCHEMA("group", struct group, group_fields);

struct every {
	uint8_t small;
	uint8_t kind;
	uint16_t two;
	uint32_t four;
	uint64_t eight;
	bool flag;
	struct bytes raw;
	struct bytes text;
	struct group *groups;
	size_t groups_count;
};
static const struct wire_field every_fields[] = {
	WIRE_U8(struct every, small),
	WIRE_ENUM(struct every, kind, 3),
	WIRE_U16(struct every, two),
	WIRE_U32(struct every, four),
	WIRE_U64(struct every, eight),
	WIRE_BOOL(struct every, flag),
	WIRE_BYTES(struct every, raw, 4),
	WIRE_TEXT(struct every, text, 16),
	WIRE_LIST(struct every, groups, 2, &group_schema),
};
static const struct wire_schema every_schema =
	WIRE_SCHEMA("every", struct every, every_fields);

/* Where things stand in the encoding of full(). */
enum {
	AT_KIND = 1,
	AT_FLAG = 16,
	AT_RAW_LEN = 17,
	AT_TEXT_LEN = 25,
	AT_TEXT = 29,
	AT_GROUPS = 33,
	AT_ITEMS = 37,
};

static struct every *full(void)
{
	static struct item items[] = {
		{BYTES_LITERAL("one"), 1},
		{BYTES_LITERAL(""), 0xfffe},
	};
	static struct group groups[] = {{items, 2}, {NULL, 0}};
	static struct every every = {
		.small = 200,
		.kind = 2,
		.two = 0x1234,
		.four = 0x12345678,
		.eight = 0x123456789abcdef0,
		.flag = true,
		.raw = BYTES_LITERAL("\0\xff\x01\x80"),
		.text = BYTES_LITERAL("\xc3\xa4\t\n"),
		.groups = groups,
		.groups_count = 2,
	};

	return &every;
}

/* One of each test's own: an arena and the encoding of full(). */
struct fixture {
	struct buf out;
	struct arena arena;
	struct every got;
	struct err err;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	buf_init(&fixture.out, WIRE_MESSAGE_MAX);
	arena_init(&fixture.arena, 1 << 20);
	*state = &fixture;
	return wire_encode(&every_schema, full(), &fixture.out, &fixture.err);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	buf_release(&fixture->out);
	arena_release(&fixture->arena);
	return 0;
}

static int decode(struct fixture *fixture, struct bytes bytes)
{
	fixture->err = (struct err){0};
	return wire_decode(&every_schema, bytes, &fixture->arena, &fixture->got,
			   &fixture->err);
}

static void wire_brings_back_what_was_sent(void **state)
{
	struct fixture *fixture = *state;
	const struct every *sent = full(), *got = &fixture->got;

	assert_int_equal(decode(fixture, buf_view(&fixture->out)), 0);
	assert_int_equal(got->small, sent->small);
	assert_int_equal(got->kind, sent->kind);
	assert_int_equal(got->two, sent->two);
	assert_int_equal(got->four, sent->four);
	assert_true(got->eight == sent->eight);
	assert_true(got->flag);
	assert_true(bytes_equal(got->raw, sent->raw));
	assert_true(bytes_equal(got->text, sent->text));
	assert_int_equal(got->groups_count, 2);
	assert_int_equal(got->groups[0].items_count, 2);
	assert_true(bytes_is(got->groups[0].items[0].name, "one"));
	assert_int_equal(got->groups[0].items[1].weight, 0xfffe);
	assert_int_equal(got->groups[1].items_count, 0);
	assert_null(got->groups[1].items);
}

static void wire_lays_bytes_out_as_documented(void **state)
{
	static const uint8_t expected[] = {
		200,  2,    0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0xf0, 0xde,
		0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 1,	  4,	0,    0,
		0,    0,    0xff, 1,	0x80, 4,    0,	  0,	0,    0xc3,
		0xa4, '\t', '\n', 2,	0,    0,    0,	  2,	0,    0,
		0,    3,    0,	  0,	0,    'o',  'n',  'e',	1,    0,
		0,    0,    0,	  0,	0xfe, 0xff, 0,	  0,	0,    0,
	};
	struct fixture *fixture = *state;

	assert_int_equal(buf_len(&fixture->out), sizeof(expected));
	assert_memory_equal(fixture->out.data, expected, sizeof(expected));
}

static void wire_refuses_a_message_cut_at_any_byte(void **state)
{
	struct fixture *fixture = *state;
	size_t len = buf_len(&fixture->out);

	for (size_t cut = 0; cut < len; cut++) {
		auto_free uint8_t *copy = malloc(cut + 1);

		/* A copy of just that size, so that ASan sees each step. */
		assert_non_null(copy);
		memcpy(copy, fixture->out.data, cut);
		copy = realloc(copy, cut ? cut : 1);
		assert_int_equal(decode(fixture, bytes_from(copy, cut)), -1);
		assert_int_equal(fixture->err.code, ERR_INVALID);
	}
}

static void wire_refuses_a_trailing_byte(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(buf_add_byte(&fixture->out, 0), 0);
	assert_int_equal(decode(fixture, buf_view(&fixture->out)), -1);
	assert_string_equal(fixture->err.text,
			    "message every: end: bytes left over");
}

/* Change one byte (or a little-endian length) of the encoding. */
static void wire_refuses_values_out_of_their_bounds(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		size_t width;
		enum err_code code;
	} rows[] = {
		{AT_KIND, 3, 1, ERR_INVALID},
		{AT_KIND, 255, 1, ERR_INVALID},
		{AT_FLAG, 2, 1, ERR_INVALID},
		{AT_FLAG, 255, 1, ERR_INVALID},
		{AT_RAW_LEN, 5, 4, ERR_TOO_LARGE},
		{AT_RAW_LEN, UINT32_MAX, 4, ERR_TOO_LARGE},
		{AT_TEXT_LEN, 17, 4, ERR_TOO_LARGE},
		{AT_TEXT, 'a' << 8 | 0xc3, 2, ERR_INVALID},
		{AT_TEXT, 0, 1, ERR_INVALID},
		{AT_TEXT, 0x1b, 1, ERR_INVALID},
		{AT_GROUPS, 3, 4, ERR_TOO_LARGE},
		{AT_GROUPS, UINT32_MAX, 4, ERR_TOO_LARGE},
		{AT_ITEMS, 4, 4, ERR_TOO_LARGE},
		{AT_ITEMS, 3, 4, ERR_INVALID},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t copy[256];
		size_t len = buf_len(&fixture->out);

		memcpy(copy, fixture->out.data, len);
		assert_int_equal(decode(fixture, bytes_from(copy, len)), 0);
		memcpy(copy + rows[i].at, &rows[i].value, rows[i].width);
		assert_int_equal(decode(fixture, bytes_from(copy, len)), -1);
		assert_int_equal(fixture->err.code, rows[i].code);
	}
}

struct wide_list {
	struct every *wide;
	size_t wide_count;
};
static const struct wire_field wide_fields[] = {
	WIRE_LIST(struct wide_list, wide, 1000000, &every_schema),
};
static const struct wire_schema wide_schema =
	WIRE_SCHEMA("wide", struct wide_list, wide_fields);

static void wire_allocates_nothing_for_a_count_without_bytes(void **state)
{
	static const uint8_t hostile[] = {0x3f, 0x42, 0x0f, 0, 1, 2, 3, 4, 5};
	struct fixture *fixture = *state;
	struct wide_list got;

	assert_int_equal(wire_decode(&wide_schema,
				     bytes_from(hostile, sizeof(hostile)),
				     &fixture->arena, &got, &fixture->err),
			 -1);
	assert_int_equal(fixture->err.code, ERR_INVALID);
	assert_int_equal(fixture->arena.used, 0);
}

static void wire_says_when_the_arena_is_full(void **state)
{
	struct fixture *fixture = *state;

	fixture->arena.max = 16;
	assert_int_equal(decode(fixture, buf_view(&fixture->out)), -1);
	assert_int_equal(fixture->err.code, ERR_TOO_LARGE);
}

static void wire_encodes_no_value_that_breaks_its_bound(void **state)
{
	struct fixture *fixture = *state;
	struct group four_items = {full()->groups[0].items, 4};
	struct bytes keep = buf_view(&fixture->out);
	struct every bad[6];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = *full();
	bad[0].kind = 3;
	bad[1].raw = bytes_str("12345");
	bad[2].text = bytes_str("\x7f");
	bad[3].text = bytes_str("12345678901234567");
	bad[4].groups_count = 3;
	bad[5].groups = &four_items;
	bad[5].groups_count = 1;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		size_t len = buf_len(&fixture->out);

		assert_int_equal(wire_encode(&every_schema, &bad[i],
					     &fixture->out, &fixture->err),
				 -1);
		assert_non_null(strstr(fixture->err.text, "message "));
		assert_int_equal(buf_len(&fixture->out), len);
	}
	assert_true(bytes_equal(keep, buf_view(&fixture->out)));
}

static void wire_leaves_a_full_buffer_as_it_was(void **state)
{
	struct fixture *fixture = *state;
	size_t len = buf_len(&fixture->out);

	for (size_t room = 0; room < len; room++) {
		auto_type(buf_release) struct buf out;

		buf_init(&out, room + 3);
		assert_int_equal(buf_add_str(&out, "abc"), 0);
		assert_int_equal(
			wire_encode(&every_schema, full(), &out, &fixture->err),
			-1);
		assert_int_equal(fixture->err.code, ERR_TOO_LARGE);
		assert_true(bytes_is(buf_view(&out), "abc"));
	}
}

static void wire_encodes_behind_what_a_growing_buffer_holds(void **state)
{
	struct fixture *fixture = *state;
	struct bytes one = buf_view(&fixture->out);
	auto_type(buf_release) struct buf out;

	buf_init(&out, 3 + 100 * one.len);
	assert_int_equal(buf_add_str(&out, "abcd"), 0);
	buf_consume(&out, 1);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(
			wire_encode(&every_schema, full(), &out, &fixture->err),
			0);
	assert_int_equal(buf_room(&out), 0);
	assert_memory_equal(buf_view(&out).data, "bcd", 3);
	for (size_t i = 0; i < 100; i++)
		assert_memory_equal(buf_view(&out).data + 3 + i * one.len,
				    one.data, one.len);
}

static void wire_cuts_and_cleans_texts_that_are_to_fit(void **state)
{
	struct fixture *fixture = *state;
	struct every every = *full();

	buf_clear(&fixture->out);
	every.text = bytes_str("\xc3\xa4\t\n\x7f\x01~ 012345678");
	assert_int_equal(wire_encode(&every_schema, &every, &fixture->out,
				     &fixture->err),
			 -1);
	assert_int_equal(wire_encode_fit(&every_schema, &every, &fixture->out,
					 &fixture->err),
			 0);
	assert_int_equal(decode(fixture, buf_view(&fixture->out)), 0);
	assert_true(bytes_is(fixture->got.text, "??????~ 01234567"));
	assert_true(bytes_equal(fixture->got.raw, every.raw));
}

static void wire_fits_nothing_but_texts(void **state)
{
	struct fixture *fixture = *state;
	struct every every = *full();

	buf_clear(&fixture->out);
	every.raw = bytes_str("12345");
	assert_int_equal(wire_encode_fit(&every_schema, &every, &fixture->out,
					 &fixture->err),
			 -1);
	assert_int_equal(buf_len(&fixture->out), 0);
}

struct sent {
	struct bytes items;
	size_t items_count;
};
static const struct wire_field sent_fields[] = {
	WIRE_ENCODED(struct sent, items, 3),
};
static const struct wire_schema sent_schema =
	WIRE_SCHEMA("sent", struct sent, sent_fields);

static void wire_sends_items_that_were_encoded_before(void **state)
{
	static const struct item items[] = {
		{BYTES_LITERAL("one"), 1},
		{BYTES_LITERAL("two"), 2},
	};
	struct fixture *fixture = *state;
	auto_type(buf_release) struct buf encoded;
	struct sent sent = {.items_count = 2};
	struct group got;

	buf_init(&encoded, WIRE_MESSAGE_MAX);
	buf_clear(&fixture->out);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		assert_int_equal(wire_encode(&item_schema, &items[i], &encoded,
					     &fixture->err),
				 0);
	sent.items = buf_view(&encoded);
	assert_int_equal(
		wire_encode(&sent_schema, &sent, &fixture->out, &fixture->err),
		0);
	assert_int_equal(wire_decode(&group_schema, buf_view(&fixture->out),
				     &fixture->arena, &got, &fixture->err),
			 0);
	assert_int_equal(got.items_count, 2);
	assert_true(bytes_is(got.items[1].name, "two"));
	assert_int_equal(got.items[1].weight, 2);
	sent.items_count = 4;
	assert_int_equal(
		wire_encode(&sent_schema, &sent, &fixture->out, &fixture->err),
		-1);
}

static void wire_finds_one_byte_that_is_not_printable(void **state)
{
	static const uint8_t bad[] = {0x00, 0x1f, 0x7f, 0x80, 0xff};
	static const uint8_t good[] = {0x20, 'a', 0x7e};
	uint8_t text[25];

	(void)state;
	for (size_t len = 0; len <= sizeof(text); len++)
		for (size_t at = 0; at < len; at++) {
			memset(text, good[len % ARRAY_SIZE(good)], len);
			assert_true(wire_is_printable(bytes_from(text, len)));
			text[at] = bad[(len + at) % ARRAY_SIZE(bad)];
			assert_false(wire_is_printable(bytes_from(text, len)));
		}
	assert_true(wire_is_printable(bytes_from(NULL, 0)));
}

static void wire_carries_an_empty_message(void **state)
{
	struct fixture *fixture = *state;
	struct wire_empty empty = {0};

	buf_clear(&fixture->out);
	assert_int_equal(wire_encode(&wire_empty_schema, &empty, &fixture->out,
				     &fixture->err),
			 0);
	assert_int_equal(buf_len(&fixture->out), 0);
	assert_int_equal(wire_decode(&wire_empty_schema, bytes_from(NULL, 0),
				     &fixture->arena, &empty, &fixture->err),
			 0);
	assert_int_equal(wire_decode(&wire_empty_schema, bytes_str("x"),
				     &fixture->arena, &empty, &fixture->err),
			 -1);
}

static void wire_text_is_utf8_without_controls(void **state)
{
	static const struct {
		const char *text;
		bool is_text;
	} rows[] = {
		{"", true},
		{"plain ASCII, longer than a word ~", true},
		{"tab\tand\nline", true},
		{"\xc2\xa0", true},
		{"\xdf\xbf", true},
		{"\xe0\xa0\x80", true},
		{"\xed\x9f\xbf", true},
		{"\xee\x80\x80", true},
		{"\xf0\x90\x80\x80", true},
		{"\xf4\x8f\xbf\xbf", true},
		{"12345678\x7f", false},
		{"1234\x7f"
		 "5678",
		 false},
		{"1234567\r", false},
		{"\r", false},
		{"\x1b[31m", false},
		{"\x01", false},
		{"\x80", false},
		{"\xbf", false},
		{"\xc0\x80", false},
		{"\xc1\xbf", false},
		{"\xc2\x80", false},
		{"\xc2\x9f", false},
		{"\xc2", false},
		{"\xc2"
		 "a",
		 false},
		{"\xe0\x9f\xbf", false},
		{"\xe2\x82", false},
		{"\xe2\x82"
		 "a",
		 false},
		{"\xed\xa0\x80", false},
		{"\xf0\x8f\xbf\xbf", false},
		{"\xf0\x90\x80", false},
		{"\xf4\x90\x80\x80", false},
		{"\xf5\x80\x80\x80", false},
		{"\xff", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(wire_is_text(bytes_str(rows[i].text)),
				 rows[i].is_text);
	assert_false(wire_is_text(bytes_from("\0", 1)));
	assert_false(wire_is_text(bytes_from("12345678\0", 9)));
}

/* The word-wise way must agree with the plain rule at each position. */
static void wire_text_checks_each_byte_of_a_word(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 0x80; c++) {
		for (size_t at = 0; at < 16; at++) {
			char text[16];
			bool is_text = (c >= 0x20 && c != 0x7f) || c == '\t' ||
				       c == '\n';

			memset(text, 'a', sizeof(text));
			text[at] = (char)c;
			assert_int_equal(wire_is_text(bytes_from(text, 16)),
					 is_text);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wire_brings_back_what_was_sent),
		TEST(wire_lays_bytes_out_as_documented),
		TEST(wire_refuses_a_message_cut_at_any_byte),
		TEST(wire_refuses_a_trailing_byte),
		TEST(wire_refuses_values_out_of_their_bounds),
		TEST(wire_allocates_nothing_for_a_count_without_bytes),
		TEST(wire_says_when_the_arena_is_full),
		TEST(wire_encodes_no_value_that_breaks_its_bound),
		TEST(wire_leaves_a_full_buffer_as_it_was),
		TEST(wire_encodes_behind_what_a_growing_buffer_holds),
		TEST(wire_cuts_and_cleans_texts_that_are_to_fit),
		TEST(wire_fits_nothing_but_texts),
		TEST(wire_sends_items_that_were_encoded_before),
		TEST(wire_finds_one_byte_that_is_not_printable),
		TEST(wire_carries_an_empty_message),
		TEST(wire_text_is_utf8_without_controls),
		TEST(wire_text_checks_each_byte_of_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
