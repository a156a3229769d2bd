#include "common/bytes.h"

#include <stdlib.h>

#include "common/words.h"

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* Of eight bytes, or of fewer with zeros: A-Z to a-z, the rest as it is. */
static uint64_t word_lower(uint64_t word)
{
	uint64_t low = word & ~WORD_HIGHS;
	uint64_t from_a = low + (0x80 - 'A') * WORD_ONES;
	uint64_t past_z = low + (0x7f - 'Z') * WORD_ONES;
	/* The high bit of each byte that is a capital letter. */
	uint64_t capitals = from_a & ~past_z & ~word & WORD_HIGHS;

	return word | capitals >> 2;
}

static bool words_same_nocase(uint64_t a, uint64_t b)
{
	return a == b || word_lower(a) == word_lower(b);
}

static uint64_t load_eight(const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

/* 4 to 7 bytes: the first four and the last four of them. */
static uint64_t load_four_to_seven(const uint8_t *from, size_t len)
{
	uint32_t first, last;

	memcpy(&first, from, sizeof(first));
	memcpy(&last, from + len - sizeof(last), sizeof(last));
	return (uint64_t)last << 32 | first;
}

bool bytes_same_nocase(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t at = 0;

	if (len < sizeof(uint32_t)) {
		for (; at < len && lower(a[at]) == lower(b[at]); at++)
			;
		return at == len;
	}
	if (len < WORD_LEN)
		return words_same_nocase(load_four_to_seven(a, len),
					 load_four_to_seven(b, len));
	for (; at + WORD_LEN < len; at += WORD_LEN)
		if (!words_same_nocase(load_eight(a + at), load_eight(b + at)))
			return false;
	/* The last eight, of which some were looked at. */
	at = len - WORD_LEN;
	return words_same_nocase(load_eight(a + at), load_eight(b + at));
}

bool bytes_starts_with(struct bytes view, struct bytes prefix)
{
	return view.len >= prefix.len &&
	       bytes_equal(bytes_slice(view, 0, prefix.len), prefix);
}

bool bytes_ends_with(struct bytes view, struct bytes suffix)
{
	return view.len >= suffix.len &&
	       bytes_equal(bytes_slice(view, view.len - suffix.len, view.len),
			   suffix);
}

bool bytes_equal_constant_time(struct bytes a, struct bytes b)
{
	uint8_t difference = 0;

	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		difference |= (uint8_t)(a.data[i] ^ b.data[i]);
	__asm__ volatile("" : "+r"(difference));
	return difference == 0;
}

ptrdiff_t bytes_find(struct bytes view, uint8_t c, size_t from)
{
	const uint8_t *hit;

	if (from >= view.len)
		return -1;
	hit = memchr(view.data + from, c, view.len - from);
	return hit ? hit - view.data : -1;
}

ptrdiff_t bytes_find_bytes(struct bytes view, struct bytes needle, size_t from)
{
	const uint8_t *hit;

	if (from > view.len || needle.len == 0 || needle.len > view.len - from)
		return -1;
	hit = memmem(view.data + from, view.len - from, needle.data,
		     needle.len);
	return hit ? hit - view.data : -1;
}

bool bytes_split(struct bytes *view, uint8_t sep, struct bytes *head)
{
	ptrdiff_t at = bytes_find(*view, sep, 0);

	if (at < 0) {
		*head = *view;
		*view = bytes_slice(*view, view->len, view->len);
		return false;
	}
	*head = bytes_slice(*view, 0, (size_t)at);
	*view = bytes_slice(*view, (size_t)at + 1, view->len);
	return true;
}

static bool is_ows(uint8_t c)
{
	return c == ' ' || c == '\t';
}

struct bytes bytes_trim(struct bytes view)
{
	while (view.len && is_ows(view.data[0])) {
		view.data++;
		view.len--;
	}
	while (view.len && is_ows(view.data[view.len - 1]))
		view.len--;
	return view;
}

int bytes_to_u64(struct bytes view, unsigned digits_max, uint64_t *value)
{
	uint64_t sum = 0;

	if (view.len == 0 || view.len > digits_max)
		return -1;
	for (size_t i = 0; i < view.len; i++) {
		uint8_t c = view.data[i];

		if (c < '0' || c > '9')
			return -1;
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(c - '0'), &sum))
			return -1;
	}
	*value = sum;
	return 0;
}

void bytes_to_hex(struct bytes view, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < view.len; i++) {
		out[2 * i] = digits[view.data[i] >> 4];
		out[2 * i + 1] = digits[view.data[i] & 15];
	}
	out[2 * view.len] = '\0';
}

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int bytes_from_hex(struct bytes view, uint8_t *out)
{
	if (view.len % 2)
		return -1;
	for (size_t i = 0; i < view.len; i += 2) {
		int high = hex_value(view.data[i]);
		int low = hex_value(view.data[i + 1]);

		if (high < 0 || low < 0)
			return -1;
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

char *bytes_dup(struct bytes view)
{
	char *copy;

	if (bytes_find(view, 0, 0) >= 0)
		return NULL;
	copy = malloc(view.len + 1);
	if (!copy)
		return NULL;
	if (view.len)
		memcpy(copy, view.data, view.len);
	copy[view.len] = '\0';
	return copy;
}
