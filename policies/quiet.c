#include "policies/quiet.h"

/* Each part where it stands first: nothing after it could need another
 * place, so nothing is tried twice. */
static bool covers(struct bytes pattern, struct bytes text)
{
	while (pattern.len > 0) {
		ptrdiff_t star = bytes_find(pattern, '*', 0);
		size_t end = star < 0 ? pattern.len : (size_t)star;
		struct bytes part = bytes_slice(pattern, 0, end);
		ptrdiff_t at = part.len ? bytes_find_bytes(text, part, 0) : 0;

		if (at < 0)
			return false;
		text = bytes_slice(text, (size_t)at + part.len, text.len);
		pattern = bytes_slice(pattern, star < 0 ? end : end + 1,
				      pattern.len);
	}
	return true;
}

bool quiet_covers(const struct policy_strings *patterns, struct bytes text)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (covers(patterns->items[i], text))
			return true;
	return false;
}
