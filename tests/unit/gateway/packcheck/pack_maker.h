/*
 * Packs made by hand, byte by byte as a test wants them (gitformat-pack(5)).
 */
#ifndef TESTS_UNIT_GATEWAY_PACKCHECK_PACK_MAKER_H
#define TESTS_UNIT_GATEWAY_PACKCHECK_PACK_MAKER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "common/buf.h"
#include "common/bytes.h"

#define MADE_MAX (8u << 20)

enum made_kind {
	MADE_COMMIT = 1,
	MADE_TREE,
	MADE_BLOB,
	MADE_TAG,
	MADE_BY_PLACE = 6,
	MADE_BY_ID
};

static inline void make_head(struct buf *pack, uint32_t count)
{
	const uint8_t head[] = {'P',
				'A',
				'C',
				'K',
				0,
				0,
				0,
				2,
				(uint8_t)(count >> 24),
				(uint8_t)(count >> 16),
				(uint8_t)(count >> 8),
				(uint8_t)count};

	buf_init(pack, MADE_MAX);
	assert_int_equal(buf_add(pack, bytes_from(head, sizeof(head))), 0);
}

/* An entry's first bytes: what it is, and the size that it claims. */
static inline void make_entry(struct buf *pack, unsigned kind, uint64_t size)
{
	uint8_t byte = (uint8_t)(kind << 4 | (size & 15));

	for (size >>= 4; size > 0; size >>= 7) {
		assert_int_equal(buf_add_byte(pack, byte | 0x80), 0);
		byte = size & 0x7f;
	}
	assert_int_equal(buf_add_byte(pack, byte), 0);
}

static inline void make_body(struct buf *pack, struct bytes content)
{
	uLongf len = compressBound(content.len);
	uint8_t *to = malloc(len);

	assert_non_null(to);
	assert_int_equal(compress2(to, &len, content.data, content.len, 9),
			 Z_OK);
	assert_int_equal(buf_add(pack, bytes_from(to, len)), 0);
	free(to);
}

static inline void make_object(struct buf *pack, unsigned kind,
			       struct bytes content)
{
	make_entry(pack, kind, content.len);
	make_body(pack, content);
}

/* Where a delta's base is, so many bytes before the entry. */
static inline void make_place(struct buf *pack, uint64_t back)
{
	uint8_t digits[10];
	size_t at = sizeof(digits);

	digits[--at] = back & 0x7f;
	while (back >>= 7)
		digits[--at] = (uint8_t)(--back & 0x7f) | 0x80;
	assert_int_equal(
		buf_add(pack, bytes_from(digits + at, sizeof(digits) - at)), 0);
}

static inline size_t make_size(uint8_t *to, uint64_t size)
{
	size_t len = 0;

	for (; size > 0x7f; size >>= 7)
		to[len++] = (uint8_t)(size & 0x7f) | 0x80;
	to[len++] = (uint8_t)size;
	return len;
}

/* A delta that copies the first byte of its base: of the sizes it claims. */
static inline struct bytes make_delta(uint8_t to[32], uint64_t base,
				      uint64_t result)
{
	size_t len = make_size(to, base);

	len += make_size(to + len, result);
	to[len++] = 0x90; /* copy: offset 0, one byte of size */
	to[len++] = 1;
	return bytes_from(to, len);
}

static inline void make_trailer(struct buf *pack)
{
	static const uint8_t none[20];

	assert_int_equal(buf_add(pack, bytes_from(none, sizeof(none))), 0);
}

#endif
