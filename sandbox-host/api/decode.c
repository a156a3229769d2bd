#include "sandbox-host/api/decode.h"

/* Into arena; '+' is a space if plus_is_space. */
static int decode(struct arena *arena, struct bytes encoded, bool plus_is_space,
		  struct bytes *text)
{
	uint8_t *out = arena_alloc(arena, encoded.len + 1);
	size_t len = 0;

	if (!out)
		return -1;
	for (size_t i = 0; i < encoded.len; i++) {
		uint8_t byte = encoded.data[i];

		if (byte == '%') {
			if (i + 2 >= encoded.len ||
			    bytes_from_hex(bytes_slice(encoded, i + 1, i + 3),
					   &byte) < 0)
				return -1;
			i += 2;
		} else if (byte == '+' && plus_is_space) {
			byte = ' ';
		}
		out[len++] = byte;
	}
	*text = bytes_from(out, len);
	return 0;
}

int decode_piece(struct arena *arena, struct bytes encoded, struct bytes *piece)
{
	if (decode(arena, encoded, false, piece) < 0 || piece->len == 0)
		return -1;
	return bytes_find(*piece, '\0', 0) < 0 && bytes_find(*piece, '/', 0) < 0
		       ? 0
		       : -1;
}

int decode_query(struct arena *arena, struct bytes encoded, struct bytes *text)
{
	return decode(arena, encoded, true, text);
}

int decode_pair(struct arena *arena, struct bytes *query, struct bytes *name,
		struct bytes *value)
{
	struct bytes pair = {0}, first;

	while (query->len > 0 && pair.len == 0)
		(void)bytes_split(query, '&', &pair);
	if (pair.len == 0)
		return 0;
	(void)bytes_split(&pair, '=', &first);
	return decode_query(arena, first, name) < 0 ||
			       decode_query(arena, pair, value) < 0
		       ? -1
		       : 1;
}
