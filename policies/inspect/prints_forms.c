#include <assert.h>

#include "policies/inspect/prints_parts.h"

static void add(struct prints_forms *forms, const uint8_t *text, size_t len)
{
	struct bytes form = bytes_from(text, len);

	assert(len >= PRINTS_WINDOW && len <= PRINTS_FORM_MAX);
	for (size_t i = 0; i < forms->count; i++)
		if (bytes_equal(bytes_from(forms->items[i].text,
					   forms->items[i].len),
				form))
			return;
	assert(forms->count < PRINTS_FORMS_MAX);
	memcpy(forms->items[forms->count].text, text, len);
	forms->items[forms->count++].len = len;
}

/* The characters that these bytes alone decide. */
static void add_base64(struct prints_forms *forms, struct bytes bytes,
		       const char last[2])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789";
	uint8_t text[PRINTS_FORM_MAX];
	size_t len = 0;
	uint32_t bits = 0;
	unsigned held = 0;

	for (size_t i = 0; i < bytes.len; i++) {
		bits = bits << 8 | bytes.data[i];
		held += 8;
		while (held >= 6) {
			unsigned value = bits >> (held -= 6) & 63;

			text[len++] = (uint8_t)(value < 62 ? digits[value]
							   : last[value - 62]);
		}
	}
	add(forms, text, len);
}

static void add_hex(struct prints_forms *forms, struct bytes core,
		    const char *digits)
{
	uint8_t text[PRINTS_FORM_MAX];
	size_t len = 0;

	for (size_t i = 0; i < core.len; i++) {
		text[len++] = (uint8_t)digits[core.data[i] >> 4];
		text[len++] = (uint8_t)digits[core.data[i] & 15];
	}
	add(forms, text, len);
}

/* RFC 3986 2.3. */
static bool is_unreserved(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || (c != '\0' && strchr("-._~", c));
}

static void add_escaped(struct prints_forms *forms, struct bytes core,
			const char *digits)
{
	uint8_t text[PRINTS_FORM_MAX];
	size_t len = 0;

	for (size_t i = 0; i < core.len; i++) {
		uint8_t c = core.data[i];

		if (is_unreserved(c)) {
			text[len++] = c;
			continue;
		}
		text[len++] = '%';
		text[len++] = (uint8_t)digits[c >> 4];
		text[len++] = (uint8_t)digits[c & 15];
	}
	add(forms, text, len);
}

void prints_forms_make(struct bytes core, struct prints_forms *forms)
{
	static const char lower[] = "0123456789abcdef";
	static const char upper[] = "0123456789ABCDEF";

	forms->count = 0;
	add(forms, core.data, core.len);
	/* It starts with the first, second or third byte of a group; what
	 * shares a character with the byte before it is left out. */
	for (size_t skip = 0; skip < 3; skip++) {
		struct bytes rest = bytes_slice(core, skip, core.len);

		add_base64(forms, rest, "+/");
		add_base64(forms, rest, "-_");
	}
	add_hex(forms, core, lower);
	add_hex(forms, core, upper);
	add_escaped(forms, core, lower);
	add_escaped(forms, core, upper);
}
