#include "policies/placeholder.h"

#include <string.h>

static bool is_letter(uint8_t c)
{
	static const char letters[] = "0123456789_-."
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz";

	return c != '\0' && strchr(letters, c);
}

const char *placeholder_text_fault(struct bytes text)
{
	if (text.len < PLACEHOLDER_TEXT_LEAST ||
	    text.len > PLACEHOLDER_TEXT_MAX)
		return "a placeholder has 8 to 128 letters";
	for (size_t i = 0; i < text.len; i++)
		if (!is_letter(text.data[i]))
			return "a placeholder has letters, digits, '_', '-' "
			       "and '.' alone: it stands so in a header, a "
			       "URL and a body";
	if (bytes_find_bytes(bytes_str(PLACEHOLDER_OPAQUE_HEAD), text, 0) >=
		    0 ||
	    bytes_find_bytes(bytes_str(PLACEHOLDER_JWT_HEAD), text, 0) >= 0)
		return "placeholders that are made begin so";
	return NULL;
}
