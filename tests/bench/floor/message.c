#include <stdlib.h>
#include <string.h>

#include "floor.h"

ssize_t message_head(uint8_t *text, size_t len, long long *body_len)
{
	uint8_t *end = memmem(text, len, "\r\n\r\n", 4);
	const char *length;
	uint8_t kept;

	*body_len = 0;
	if (!end)
		return -1;
	end += 4;
	kept = end[-1];
	end[-1] = '\0';
	length = strcasestr((const char *)text, "\r\ncontent-length:");
	if (length)
		*body_len = strtoll(length + 17, NULL, 10);
	end[-1] = kept;
	return end - text;
}
