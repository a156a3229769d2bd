#include "gateway/courier/reflect_matches.h"

#include <string.h>

#define ESCAPE_MAX 6 /* \\u00XX */

/* ---- forms ---- */

/* Bits of the secret before the first digit that is its alone. */
static size_t skipped_bits(enum reflect_form form)
{
	switch (form) {
	case REFLECT_BASE64_SECOND:
		return 4;
	case REFLECT_BASE64_THIRD:
		return 2;
	case REFLECT_PLAIN:
	case REFLECT_BASE64:
	case REFLECT_HEX:
	case REFLECT_FORM_MAX:
	default:
		return 0;
	}
}

size_t reflect_form_len(const struct reflect_needle *needle)
{
	size_t len = needle->secret.len;

	if (needle->form == REFLECT_PLAIN)
		return len;
	if (needle->form == REFLECT_HEX)
		return 2 * len;
	return (8 * len - skipped_bits(needle->form)) / 6;
}

static void base64_digit(unsigned value, uint8_t out[2])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";

	out[0] = out[1] = (uint8_t)digits[value];
	if (value == 62)
		out[1] = '-';
	if (value == 63)
		out[1] = '_';
}

void reflect_form_char(const struct reflect_needle *needle, size_t i,
		       uint8_t out[2])
{
	const uint8_t *secret = needle->secret.data;
	size_t bit = skipped_bits(needle->form) + 6 * i;
	unsigned two;

	if (needle->form == REFLECT_PLAIN) {
		out[0] = out[1] = secret[i];
	} else if (needle->form == REFLECT_HEX) {
		unsigned value =
			i % 2 ? secret[i / 2] & 15 : secret[i / 2] >> 4;

		out[0] = (uint8_t)"0123456789abcdef"[value];
		out[1] = (uint8_t)"0123456789ABCDEF"[value];
	} else {
		two = (unsigned)secret[bit / 8] << 8;
		if (bit / 8 + 1 < needle->secret.len)
			two |= secret[bit / 8 + 1];
		base64_digit(two >> (10 - bit % 8) & 63, out);
	}
}

/* ---- what a text is made of ---- */

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t chunk_border(struct bytes text, size_t at, bool *is_open)
{
	size_t start = at, max = at + REFLECT_BORDER_MAX, digits = 0;

	if (max > text.len)
		max = text.len;
	if (++at < max && text.data[at++] != '\n')
		return 0;
	for (; at < max && hex_value(text.data[at]) >= 0; at++)
		digits++;
	if (at < max && digits == 0)
		return 0;
	while (at < max && (text.data[at] == ' ' || text.data[at] == '\t'))
		at++;
	if (at < max && text.data[at++] != '\r')
		return 0;
	if (at < max && text.data[at++] == '\n')
		return at - start;
	*is_open = at == text.len;
	return 0;
}

static bool is_control(uint8_t first)
{
	return first == REFLECT_PING || first == REFLECT_PONG;
}

bool reflect_begins_frame(uint8_t first)
{
	return (first & 0x7f) == 0 || is_control(first);
}

/* RFC 6455 5.2: unmasked, no extension; then the length. Between the frames
 * of a message a ping may stand, or the answer to one, whole. */
static size_t frame_border(struct bytes text, size_t at, bool *is_open)
{
	uint8_t second = at + 1 < text.len ? text.data[at + 1] : 0;
	size_t len = 2;

	if (second > 127 || (second > 125 && is_control(text.data[at])))
		return 0;
	if (is_control(text.data[at]))
		len += second;
	else if (second > 125)
		len += second == 126 ? 2 : 8;
	*is_open = at + len > text.len;
	return *is_open ? 0 : len;
}

size_t reflect_border(struct bytes text, size_t at, bool frames, bool *is_open)
{
	*is_open = false;
	if (text.data[at] == '\r')
		return chunk_border(text, at, is_open);
	if (frames && reflect_begins_frame(text.data[at]))
		return frame_border(text, at, is_open);
	return 0;
}

/* A character, byte by byte. */
struct written {
	uint8_t bytes[ESCAPE_MAX];
	size_t ends[ESCAPE_MAX]; /* after each */
	size_t count;
};

/* The next bytes, without the borders between them; fewer where the text
 * ends. */
static void read_bytes(struct bytes text, size_t at, bool frames,
		       struct written *written)
{
	written->count = 0;
	while (written->count < ESCAPE_MAX && at < text.len) {
		bool is_open = false;
		size_t border = 0;

		if (written->count > 0)
			border = reflect_border(text, at, frames, &is_open);
		if (is_open)
			return;
		at += border;
		if (border > 0)
			continue;
		written->bytes[written->count] = text.data[at++];
		written->ends[written->count++] = at;
	}
}

/* An escape of two hex digits after `before` bytes. */
static size_t hex_escape(const struct written *written, size_t before,
			 uint8_t *c)
{
	int value = 0;

	for (size_t i = before; i < before + 2; i++) {
		int digit;

		if (i >= written->count)
			return 0;
		digit = hex_value(written->bytes[i]);
		if (digit < 0)
			return 1;
		value = value * 16 + digit;
	}
	*c = (uint8_t)value;
	return before + 2;
}

/* How many of the bytes are one character; 0: they are too few to say. */
static size_t json_escape(const struct written *written, uint8_t *c)
{
	static const uint8_t unicode[] = {'\\', 'u', '0', '0'};

	if (written->count == 1)
		return 0;
	if (written->bytes[1] != 'u') {
		if (!memchr("\"\\/", written->bytes[1], 3))
			return 1;
		*c = written->bytes[1];
		return 2;
	}
	for (size_t i = 2; i < sizeof(unicode); i++) {
		if (i >= written->count)
			return 0;
		if (written->bytes[i] != unicode[i])
			return 1;
	}
	return hex_escape(written, sizeof(unicode), c);
}

size_t reflect_character(struct bytes text, size_t at, unsigned escapes,
			 bool frames, uint8_t *c)
{
	struct written written;
	size_t count;

	*c = text.data[at];
	if (!(*c == '%' && (escapes & REFLECT_PERCENT)) &&
	    !(*c == '\\' && (escapes & REFLECT_JSON)))
		return 1;
	read_bytes(text, at, frames, &written);
	count = *c == '%' ? hex_escape(&written, 1, c)
			  : json_escape(&written, c);
	return count > 0 ? written.ends[count - 1] - at : 0;
}

/* ---- comparing ---- */

static bool is_char(const struct reflect_needle *needle, size_t i, uint8_t c)
{
	uint8_t wanted[2];

	reflect_form_char(needle, i, wanted);
	return c == wanted[0] || c == wanted[1];
}

struct reflect_place reflect_compare(const struct reflect_needle *needle,
				     struct bytes text, size_t at, size_t chars)
{
	struct reflect_place place = {.end = at, .chars = chars};
	size_t len = reflect_form_len(needle);

	while (place.chars < len) {
		size_t used = 0;
		bool is_open = true;
		uint8_t c = 0;

		if (at < text.len)
			used = reflect_character(text, at, needle->escapes,
						 needle->frames, &c);
		if (used > 0 && is_char(needle, place.chars, c)) {
			at += used;
			place.end = at;
			place.chars++;
			continue;
		}
		if (used > 0)
			used = place.chars ? reflect_border(text, at,
							    needle->frames,
							    &is_open)
					   : 0;
		if (used == 0) {
			place.is_open = is_open && place.chars > 0;
			break;
		}
		at += used;
	}
	place.stop = at;
	return place;
}

struct reflect_place reflect_cover(const struct reflect_needle *needle,
				   struct bytes text, size_t at, size_t chars)
{
	struct reflect_place place = {.end = at, .chars = chars};
	size_t len = reflect_form_len(needle);

	while (place.chars < len) {
		bool is_open = true;
		size_t border = 0, used = 0;
		uint8_t c;

		if (at < text.len)
			border = reflect_border(text, at, needle->frames,
						&is_open);
		if (border == 0 && at < text.len && !is_open)
			used = reflect_character(text, at, needle->escapes,
						 needle->frames, &c);
		if (border + used == 0) {
			place.is_open = true;
			break;
		}
		at += border + used;
		place.chars += used > 0;
	}
	place.end = place.stop = at;
	return place;
}

void reflect_mask(uint8_t *data, size_t from, size_t end, bool frames)
{
	struct bytes text = bytes_from(data, end);

	while (from < end) {
		bool is_open;
		size_t border = reflect_border(text, from, frames, &is_open);

		if (border == 0 && data[from] != '\r' && data[from] != '\n')
			data[from] = '*';
		from += border > 0 ? border : 1;
	}
}
