#include "gateway/git/packets.h"

#define HEADER_LEN 4

static void hold(struct buf *held, struct bytes *input, size_t len,
		 bool *is_full)
{
	struct bytes part = bytes_slice(*input, 0, len);

	*is_full = buf_add(held, part) < 0;
	*input = bytes_slice(*input, part.len, input->len);
}

/* How many bytes the packet whose header stands in held still lacks. */
static size_t lacking(const struct buf *held)
{
	uint8_t raw[2] = {0};
	size_t len;

	if (bytes_from_hex(bytes_slice(buf_view(held), 0, HEADER_LEN), raw) < 0)
		return 0;
	len = (size_t)raw[0] << 8 | raw[1];
	return len > buf_len(held) ? len - buf_len(held) : 0;
}

enum pktline_kind packets_take(struct buf *held, struct bytes *input,
			       struct bytes *payload)
{
	enum pktline_kind kind;
	bool is_full = false;
	size_t used;

	/* What the last call handed out from here is not needed any more. */
	if (buf_len(held) > 0 && !packets_is_split(held))
		buf_clear(held);
	if (buf_len(held) == 0) {
		kind = pktline_next(*input, payload, &used);
		if (kind == PKTLINE_MORE)
			hold(held, input, input->len, &is_full);
		else
			*input = bytes_slice(*input, used, input->len);
		return is_full ? PKTLINE_INVALID : kind;
	}
	if (buf_len(held) < HEADER_LEN)
		hold(held, input, HEADER_LEN - buf_len(held), &is_full);
	kind = pktline_next(buf_view(held), payload, &used);
	if (kind == PKTLINE_MORE && buf_len(held) >= HEADER_LEN) {
		hold(held, input, lacking(held), &is_full);
		kind = pktline_next(buf_view(held), payload, &used);
	}
	return is_full ? PKTLINE_INVALID : kind;
}

bool packets_is_split(const struct buf *held)
{
	struct bytes payload;
	size_t used;

	return buf_len(held) > 0 &&
	       pktline_next(buf_view(held), &payload, &used) == PKTLINE_MORE;
}

struct bytes packets_line(struct bytes payload)
{
	if (payload.len > 0 && payload.data[payload.len - 1] == '\n')
		payload.len--;
	return payload;
}

bool packets_word(struct bytes line, const char *word, struct bytes *rest)
{
	size_t len = strlen(word);

	if (line.len <= len || memcmp(line.data, word, len) != 0 ||
	    line.data[len] != ' ')
		return false;
	*rest = bytes_slice(line, len + 1, line.len);
	return true;
}

static bool is_between(struct bytes text, size_t max, uint8_t low, uint8_t high)
{
	if (text.len == 0 || text.len > max)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < low || text.data[i] > high ||
		    text.data[i] == 0x7f)
			return false;
	return true;
}

bool packets_is_token(struct bytes text, size_t max)
{
	return is_between(text, max, 0x21, 0x7e);
}

bool packets_is_text(struct bytes text, size_t max)
{
	return is_between(text, max, 0x20, 0xff);
}
