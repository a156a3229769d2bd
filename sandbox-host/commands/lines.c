#include "sandbox-host/commands/lines.h"

#include "common/utf8.h"

#define REPLACEMENT	"\xef\xbf\xbd"
#define CHARACTER_MAX	4
#define IS_CONTINUED(c) (((c) & 0xc0) == 0x80)

/* Bytes of a character that begins with c; 1 for what begins none. */
static size_t announced_len(uint8_t c)
{
	if (c >= 0xf0)
		return 4;
	if (c >= 0xe0)
		return 3;
	return c >= 0xc0 ? 2 : 1;
}

size_t lines_whole_len(struct bytes bytes)
{
	size_t back = 1;

	while (back < CHARACTER_MAX && back < bytes.len &&
	       IS_CONTINUED(bytes.data[bytes.len - back]))
		back++;
	if (bytes.len < back ||
	    announced_len(bytes.data[bytes.len - back]) <= back)
		return bytes.len;
	return bytes.len - back;
}

size_t lines_shown_len(struct bytes text, size_t max)
{
	return text.len <= max ? text.len
			       : lines_whole_len(bytes_slice(text, 0, max));
}

int lines_add_text(struct bytes bytes, struct buf *out)
{
	while (bytes.len > 0) {
		size_t len = utf8_valid_len(bytes);

		if (buf_add(out, bytes_slice(bytes, 0, len)) < 0)
			return -1;
		bytes = bytes_slice(bytes, len, bytes.len);
		if (bytes.len == 0)
			return 0;
		if (buf_add_str(out, REPLACEMENT) < 0)
			return -1;
		bytes = bytes_slice(bytes, 1, bytes.len);
	}
	return 0;
}

/* Where the next line ends: its length, and in *skip what to take beside. */
static bool find_end(struct bytes view, bool has_ended, size_t *len,
		     size_t *skip)
{
	struct bytes head = bytes_slice(view, 0, LINE_BYTES_MAX + 1);
	ptrdiff_t newline = bytes_find(head, '\n', 0);

	*skip = 0;
	if (newline >= 0) {
		*len = (size_t)newline;
		*skip = 1;
		return true;
	}
	if (view.len >= LINE_BYTES_MAX) {
		*len = lines_whole_len(bytes_slice(view, 0, LINE_BYTES_MAX));
		return true;
	}
	*len = view.len;
	return has_ended && view.len > 0;
}

bool lines_next(struct buf *in, bool has_ended, struct buf *line)
{
	struct bytes view = buf_view(in);
	size_t len, skip;

	buf_clear(line);
	if (!find_end(view, has_ended, &len, &skip))
		return false;
	if (len == 0 ? buf_add_byte(line, '\n') < 0
		     : lines_add_text(bytes_slice(view, 0, len), line) < 0)
		return false;
	buf_consume(in, len + skip);
	return true;
}
