#include "policies/inspect/form.h"

#include <stdalign.h>

#include "common/utf8.h"
#include "policies/inspect/inspection.h"

static const char out_of_memory[] = "memory is out";

size_t form_arena_max(size_t len)
{
	size_t pairs = len / 2 + 1;

	if (pairs > INSPECT_FIELDS_MAX)
		pairs = INSPECT_FIELDS_MAX;
	/* Each name and each value may be padded. */
	return len + pairs * (sizeof(struct field) + 2 * alignof(max_align_t));
}

/* One byte, or -1. */
static int take_byte(struct bytes *text)
{
	uint8_t c = text->data[0];
	uint8_t escaped;
	size_t len = 1;

	if (c == '%') {
		len = 3;
		if (text->len < len ||
		    bytes_from_hex(bytes_slice(*text, 1, len), &escaped) < 0)
			return -1;
		c = escaped;
	} else if (c == '+') {
		c = ' ';
	} else if (c < ' ' || c == 0x7f || c == ';') {
		return -1;
	}
	*text = bytes_slice(*text, len, text->len);
	return c;
}

static const char *decode(struct bytes text, struct arena *arena,
			  struct bytes *out)
{
	uint8_t *to;
	size_t len = 0;

	*out = bytes_from(NULL, 0);
	if (text.len == 0)
		return NULL;
	to = arena_alloc(arena, text.len);
	if (!to)
		return out_of_memory;
	while (text.len > 0) {
		int c = take_byte(&text);

		if (c < 0)
			return "a form holds a bad escape, ';' or a control";
		if (c == 0)
			return "a form holds NUL";
		to[len++] = (uint8_t)c;
	}
	*out = bytes_from(to, len);
	return utf8_valid_len(*out) < len ? "a form is not UTF-8" : NULL;
}

static size_t count_pairs(struct bytes text)
{
	struct bytes pair;
	size_t count = 0;
	bool is_more;

	do {
		is_more = bytes_split(&text, '&', &pair);
		count += pair.len > 0;
	} while (is_more);
	return count;
}

static const char *read_pair(struct bytes pair, struct arena *arena,
			     struct fields *fields)
{
	struct bytes value = pair;
	struct bytes name;
	struct bytes decoded[2];
	const char *fault;

	if (!bytes_split(&value, '=', &name))
		value = bytes_from(NULL, 0);
	fault = decode(name, arena, &decoded[0]);
	if (!fault)
		fault = decode(value, arena, &decoded[1]);
	if (fault)
		return fault;
	/* It would say that the others are in another charset. */
	if (bytes_is_nocase(decoded[0], "_charset_") &&
	    !bytes_is_nocase(decoded[1], "utf-8"))
		return "a form is not UTF-8";
	(void)fields_add(fields, decoded[0], decoded[1]);
	return NULL;
}

const char *form_read(struct bytes text, struct arena *arena,
		      struct fields *fields)
{
	size_t count = count_pairs(text);
	const char *fault = NULL;
	struct bytes pair;
	bool is_more;

	*fields = (struct fields){0};
	if (count > INSPECT_FIELDS_MAX)
		return "a form has too many fields";
	if (count == 0)
		return NULL;
	fields->items = arena_array(arena, count, sizeof(struct field));
	if (!fields->items)
		return out_of_memory;
	fields->room = count;
	do {
		is_more = bytes_split(&text, '&', &pair);
		if (pair.len > 0)
			fault = read_pair(pair, arena, fields);
	} while (is_more && !fault);
	return fault;
}
