#include "policies/spelling.h"

#include "common/cleanup.h"

/* The letter that the text begins with once it is folded, and its length. */
static uint8_t fold(struct bytes text, size_t *len)
{
	static const struct {
		struct bytes text;
		uint8_t letter;
	} beyond[] = {
		{BYTES_LITERAL("\xc5\xbf"), 's'},
		{BYTES_LITERAL("\xe2\x84\xaa"), 'k'},
		{BYTES_LITERAL("\xc4\xb0"), 'i'},
		{BYTES_LITERAL("\xc4\xb1"), 'i'},
	};
	uint8_t c = text.data[0];

	*len = 1;
	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
	for (size_t i = 0; i < ARRAY_SIZE(beyond); i++) {
		if (!bytes_starts_with(text, beyond[i].text))
			continue;
		*len = beyond[i].text.len;
		return beyond[i].letter;
	}
	return c;
}

static uint8_t take(enum spelling kind, struct bytes *text)
{
	size_t len;
	uint8_t c = fold(*text, &len);

	*text = bytes_slice(*text, len, text->len);
	if (kind == SPELLING_PARAMETER && (c == ' ' || c == '.' || c == '['))
		return '_';
	return kind == SPELLING_HEADER && c == '-' ? '_' : c;
}

bool spelling_matches(enum spelling kind, struct bytes name,
		      struct bytes wanted)
{
	bool is_parameter = kind == SPELLING_PARAMETER;

	while (is_parameter && name.len && name.data[0] == ' ' &&
	       !bytes_starts_with(wanted, bytes_str(" ")))
		name = bytes_slice(name, 1, name.len);
	while (name.len && wanted.len)
		if (take(kind, &name) != take(kind, &wanted))
			return false;
	if (is_parameter && wanted.len == 0 && name.len)
		return name.data[0] == '[';
	return name.len == wanted.len;
}
