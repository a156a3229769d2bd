#include "policies/query.h"

#define ESCAPE_LEN 3 /* %2F */

static const char ambiguous[] = "the query can be read in two ways";

/* One character at the start of text into *out: how many bytes of text it
 * took, 0 when it is none. */
static size_t decode_one(struct bytes text, uint8_t *out)
{
	uint8_t c = text.data[0];

	if (c < 0x21 || c > 0x7e || c == ';' || c == '#')
		return 0;
	if (c != '%') {
		*out = c == '+' ? ' ' : c;
		return 1;
	}
	if (text.len < ESCAPE_LEN ||
	    bytes_from_hex(bytes_slice(text, 1, ESCAPE_LEN), out) ||
	    *out == '\0')
		return 0;
	return ESCAPE_LEN;
}

static int decode(struct arena *arena, struct bytes text, struct bytes *out,
		  struct err *err)
{
	uint8_t *data = arena_alloc(arena, text.len + 1);
	size_t len = 0;

	if (!data)
		return err_set(err, ERR_TOO_LARGE, "the query is too large");
	while (text.len) {
		size_t took = decode_one(text, &data[len]);

		if (took == 0)
			return err_set(err, ERR_INVALID, "%s", ambiguous);
		len++;
		text = bytes_slice(text, took, text.len);
	}
	*out = bytes_from(data, len);
	return 0;
}

int query_parse(struct arena *arena, struct bytes query, struct fields *fields,
		struct err *err)
{
	struct bytes pair;
	bool more = true;

	*fields = (struct fields){.room = QUERY_PAIRS_MAX};
	fields->items =
		arena_array(arena, QUERY_PAIRS_MAX, sizeof(*fields->items));
	if (!fields->items)
		return err_set(err, ERR_TOO_LARGE, "the query is too large");
	while (more) {
		struct bytes name;
		struct bytes value;

		more = bytes_split(&query, '&', &pair);
		if (pair.len == 0)
			continue;
		(void)bytes_split(&pair, '=', &name);
		if (decode(arena, name, &name, err) ||
		    decode(arena, pair, &value, err))
			return -1;
		if (fields_add(fields, name, value))
			return err_set(err, ERR_INVALID,
				       "the query has more than %d pairs",
				       QUERY_PAIRS_MAX);
	}
	return 0;
}
