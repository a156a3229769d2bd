#include "common/base64.h"

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct bytes bytes, char *out)
{
	while (bytes.len > 0) {
		struct bytes part = bytes_slice(bytes, 0, 3);
		uint32_t bits = (uint32_t)part.data[0] << 16;

		if (part.len > 1)
			bits |= (uint32_t)part.data[1] << 8;
		if (part.len > 2)
			bits |= part.data[2];
		*out++ = alphabet[bits >> 18];
		*out++ = alphabet[bits >> 12 & 63];
		*out++ = part.len > 1 ? alphabet[bits >> 6 & 63] : '=';
		*out++ = part.len > 2 ? alphabet[bits & 63] : '=';
		bytes = bytes_slice(bytes, part.len, bytes.len);
	}
	*out = '\0';
}

/* A character's value, and 1; 0: it has none. A table, since branches on
 * such text are mispredicted: a bundle of roots is decoded when a sandbox
 * starts. */
static const uint8_t places[UINT8_MAX + 1] = {
	['A'] = 1,  ['B'] = 2,	['C'] = 3,  ['D'] = 4,	['E'] = 5,  ['F'] = 6,
	['G'] = 7,  ['H'] = 8,	['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12,
	['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
	['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30,
	['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
	['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
	['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
	['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60,
	['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64};

/* Four characters, of which the last may be padding. The bytes they stand
 * for, 1..3; 0: they are wrong. */
static size_t decode_group(const uint8_t *group, size_t padding, uint8_t out[3])
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4 - padding; i++) {
		uint32_t place = places[group[i]];

		if (place == 0)
			return 0;
		bits |= (place - 1) << (18 - 6 * i);
	}
	/* Bits that stand for nothing must be 0. */
	if (bits & ((1u << (8 * padding)) - 1))
		return 0;
	out[0] = (uint8_t)(bits >> 16);
	out[1] = (uint8_t)(bits >> 8);
	out[2] = (uint8_t)bits;
	return 3 - padding;
}

ptrdiff_t base64_decode(struct bytes text, uint8_t *out, size_t size)
{
	size_t len = 0, padding = 0;

	if (text.len % 4)
		return -1;
	for (size_t at = 0; at < text.len; at += 4) {
		const uint8_t *group = text.data + at;
		uint8_t bytes[3];
		size_t count;

		if (at + 4 == text.len && group[3] == '=')
			padding = group[2] == '=' ? 2 : 1;
		count = decode_group(group, padding, bytes);
		if (count == 0 || count > size - len)
			return -1;
		memcpy(out + len, bytes, count);
		len += count;
	}
	return (ptrdiff_t)len;
}
