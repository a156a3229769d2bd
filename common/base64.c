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

static int value_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Four characters, of which the last may be padding. The bytes they stand
 * for, 1..3; 0: they are wrong. */
static size_t decode_group(const uint8_t *group, size_t padding, uint8_t out[3])
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4 - padding; i++) {
		int value = value_of(group[i]);

		if (value < 0)
			return 0;
		bits |= (uint32_t)value << (18 - 6 * i);
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
