#include "gateway/control/json.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"

json_t *json_text(struct bytes text)
{
	return json_stringn(text.len ? (const char *)text.data : "", text.len);
}

json_t *json_time(uint64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	if (wall_ms == 0)
		return json_null();
	clock_format(wall_ms, text);
	return json_string(text);
}

json_t *json_base64(struct bytes data)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	auto_free char *text = malloc((data.len + 2) / 3 * 4 + 1);
	size_t len = 0;

	if (!text)
		return NULL;
	for (size_t at = 0; at < data.len; at += 3) {
		size_t left = data.len - at;
		uint32_t group = (uint32_t)data.data[at] << 16;

		if (left > 1)
			group |= (uint32_t)data.data[at + 1] << 8;
		if (left > 2)
			group |= data.data[at + 2];
		text[len++] = digits[group >> 18];
		text[len++] = digits[group >> 12 & 63];
		text[len++] = '=';
		text[len++] = '=';
		if (left > 1)
			text[len - 2] = digits[group >> 6 & 63];
		if (left > 2)
			text[len - 1] = digits[group & 63];
	}
	return json_stringn(text, len);
}

json_t *json_words(struct bytes text)
{
	json_t *list = json_array();

	while (list && text.len > 0) {
		struct bytes word;

		(void)bytes_split(&text, ' ', &word);
		if (json_array_append_new(list, json_text(word)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}
