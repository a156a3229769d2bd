#include "policies/inspect/unwrap.h"

#include <assert.h>
#include <string.h>

static bool is_plain(uint8_t c)
{
	return c != '%' && c != '\\' && c != '\0';
}

bool unwrap_is_wrapped(struct bytes text)
{
	return bytes_find(text, '%', 0) >= 0 ||
	       bytes_find(text, '\\', 0) >= 0 || bytes_find(text, 0, 0) >= 0;
}

/* The value of wanted digits behind the first bytes: -1: they are none, -2:
 * not known yet. */
static int read_hex(const struct unwrap_held *held, size_t from, size_t wanted)
{
	struct bytes digits = bytes_slice(bytes_from(held->bytes, held->len),
					  from, from + wanted);
	/* A digit alone has a partner. */
	uint8_t padded[UNWRAP_ESCAPE_MAX] = "000000";
	uint8_t value[UNWRAP_ESCAPE_MAX / 2] = {0};

	if (digits.len)
		memcpy(padded, digits.data, digits.len);
	if (bytes_from_hex(bytes_from(padded, wanted), value) < 0)
		return -1;
	if (digits.len < wanted)
		return -2;
	/* Tokens are ASCII: what lies beyond is a blank. */
	if (wanted == 2)
		return value[0];
	return value[0] ? ' ' : value[1];
}

/* A byte behind a backslash (RFC 8259 7). */
static uint8_t named(uint8_t c)
{
	static const char names[] = "bfnrt";
	static const char bytes[] = "\b\f\n\r\t";
	const char *name = memchr(names, c, sizeof(names) - 1);

	return name ? (uint8_t)bytes[name - names] : c;
}

/* What the first of the held bytes mean into *c, -1: nothing; how many they
 * are. 0: that is not known yet. */
static size_t read_held(const struct unwrap_held *held, int *c)
{
	bool is_url = held->bytes[0] == '%';
	bool is_code = !is_url && held->len > 1 && held->bytes[1] == 'u';

	*c = held->bytes[0];
	if (is_plain(held->bytes[0]))
		return 1;
	if (held->bytes[0] == '\0') {
		*c = -1;
		return 1;
	}
	if (is_url || is_code) {
		int value = read_hex(held, is_url ? 1 : 2, is_url ? 2 : 4);

		if (value == -2)
			return 0;
		if (value >= 0) {
			*c = value;
			return is_url ? 3 : UNWRAP_ESCAPE_MAX;
		}
		if (is_url)
			return 1;
	}
	if (held->len < 2)
		return 0;
	*c = named(held->bytes[1]);
	return 2;
}

static size_t put(struct unwrap *unwrap, size_t at, uint8_t c, uint8_t *out);

/* Pass on what is known by now; at the end all of it is. */
static size_t drain(struct unwrap *unwrap, size_t at, bool is_over,
		    uint8_t *out)
{
	struct unwrap_held *held = &unwrap->rounds[at];
	size_t written = 0;

	while (held->len > 0) {
		int c;
		size_t took = read_held(held, &c);

		if (took == 0 && !is_over)
			break;
		if (took == 0)
			took = 1;
		held->len -= took;
		memmove(held->bytes, held->bytes + took, held->len);
		if (c >= 0)
			written +=
				put(unwrap, at + 1, (uint8_t)c, out + written);
	}
	return written;
}

/* A byte for that round; behind the last it is the result's. */
static size_t put(struct unwrap *unwrap, size_t at, uint8_t c, uint8_t *out)
{
	struct unwrap_held *held = &unwrap->rounds[at];

	if (at == unwrap->count) {
		unwrap->may_go_on |= !is_plain(c);
		*out = c;
		return 1;
	}
	held->bytes[held->len++] = c;
	return drain(unwrap, at, false, out);
}

void unwrap_begin(struct unwrap *unwrap, size_t rounds)
{
	assert(rounds > 0 && rounds <= UNWRAP_ROUNDS_MAX);
	*unwrap = (struct unwrap){.count = rounds};
}

static bool is_idle(const struct unwrap *unwrap)
{
	size_t held = 0;

	for (size_t i = 0; i < unwrap->count; i++)
		held += unwrap->rounds[i].len;
	return held == 0;
}

size_t unwrap_some(struct unwrap *unwrap, struct bytes *text, uint8_t *out,
		   size_t room)
{
	size_t taken = 0, written = 0;

	assert(room >= UNWRAP_OUT_MAX);
	while (taken < text->len && written + UNWRAP_OUT_MAX <= room) {
		uint8_t c = text->data[taken++];

		if (is_plain(c) && is_idle(unwrap))
			out[written++] = c;
		else
			written += put(unwrap, 0, c, out + written);
	}
	*text = bytes_slice(*text, taken, text->len);
	return written;
}

size_t unwrap_end(struct unwrap *unwrap, uint8_t *out)
{
	size_t written = 0;

	for (size_t i = 0; i < unwrap->count; i++)
		written += drain(unwrap, i, true, out + written);
	return written;
}
