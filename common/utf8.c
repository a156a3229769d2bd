#include "common/utf8.h"

/* RFC 3629 4: each row of the grammar; the second byte has its own range,
 * all after it are 80..BF. */
static const struct {
	uint8_t first_min, first_max, second_min, second_max, len;
} rows[] = {
	{0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2},
	{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
	{0xf4, 0xf4, 0x80, 0x8f, 4},
};

static bool tail_fits(struct bytes text, size_t row)
{
	if (text.len < rows[row].len)
		return false;
	if (rows[row].len > 1 && (text.data[1] < rows[row].second_min ||
				  text.data[1] > rows[row].second_max))
		return false;
	for (size_t i = 2; i < rows[row].len; i++)
		if ((text.data[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t utf8_len(struct bytes text)
{
	for (size_t i = 0; text.len && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text.data[0] >= rows[i].first_min &&
		    text.data[0] <= rows[i].first_max)
			return tail_fits(text, i) ? rows[i].len : 0;
	return 0;
}

size_t utf8_valid_len(struct bytes text)
{
	size_t at = 0;

	while (at < text.len) {
		size_t len = utf8_len(bytes_slice(text, at, text.len));

		if (len == 0)
			break;
		at += len;
	}
	return at;
}
