#include "gateway/courier/fields.h"

#include "common/cleanup.h"
#include "common/secret.h"
#include "gateway/flow/frames.h"

#define NEVER_INDEXED 0x10
/* The dynamic table is empty (RFC 7541 6.3): 4.2 wants that said when upstream
 * takes a smaller one than it has, and what it takes is the framer's to know.
 */
#define NO_TABLE 0x20
/* Of a string's length: 7 bits, then 7 in each byte (RFC 7541 5.1). */
#define PREFIX_MAX 127
/* A field here has at most so many bytes more than its line has. */
#define LINE_EXTRA_MAX 12
#define LINES_MAX      256
#define PSEUDO_BYTES   128

size_t fields_bytes_max(size_t head_len)
{
	size_t block = head_len + LINES_MAX * LINE_EXTRA_MAX + PSEUDO_BYTES;

	return block + (block / FRAME_PAYLOAD_MAX + 1) * FRAME_HEADER;
}

static int add_len(struct buf *out, size_t len)
{
	if (len < PREFIX_MAX)
		return buf_add_byte(out, (uint8_t)len);
	if (buf_add_byte(out, PREFIX_MAX) < 0)
		return -1;
	for (len -= PREFIX_MAX; len >= 0x80; len >>= 7)
		if (buf_add_byte(out, (uint8_t)(len & 0x7f) | 0x80) < 0)
			return -1;
	return buf_add_byte(out, (uint8_t)len);
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

static int add_field(struct buf *out, struct bytes name, struct bytes value)
{
	if (buf_add_byte(out, NEVER_INDEXED) < 0 || add_len(out, name.len) < 0)
		return -1;
	for (size_t i = 0; i < name.len; i++)
		if (buf_add_byte(out, lower(name.data[i])) < 0)
			return -1;
	if (add_len(out, value.len) < 0)
		return -1;
	return value.len ? buf_add(out, value) : 0;
}

static int add_named(struct buf *out, const char *name, struct bytes value)
{
	return add_field(out, bytes_str(name), value);
}

/* The next line, without its CRLF. */
static bool next_line(struct bytes *head, struct bytes *line)
{
	if (!bytes_split(head, '\n', line) || line->len == 0)
		return false;
	*line = bytes_slice(*line, 0, line->len - 1);
	return true;
}

/* "POST /path HTTP/1.1" and "Host: name", which comes next. */
static int add_pseudo(struct buf *out, struct bytes *head)
{
	struct bytes line, method, path, name;

	if (!next_line(head, &line) || !bytes_split(&line, ' ', &method) ||
	    !bytes_split(&line, ' ', &path) || !next_line(head, &line) ||
	    !bytes_split(&line, ':', &name) || !bytes_is_nocase(name, "Host"))
		return -1;
	if (add_named(out, ":method", method) < 0 ||
	    add_named(out, ":scheme", bytes_str("https")) < 0 ||
	    add_named(out, ":authority", bytes_trim(line)) < 0)
		return -1;
	return add_named(out, ":path", path);
}

static int add_block(struct buf *out, struct bytes head)
{
	struct bytes line, name;
	unsigned count = 0;

	if (buf_add_byte(out, NO_TABLE) < 0 || add_pseudo(out, &head) < 0)
		return -1;
	while (next_line(&head, &line) && line.len > 0) {
		if (!bytes_split(&line, ':', &name) || ++count > LINES_MAX)
			return -1;
		if (!bytes_is_nocase(name, "Connection") &&
		    !bytes_is_nocase(name, "Transfer-Encoding") &&
		    add_field(out, name, bytes_trim(line)) < 0)
			return -1;
	}
	return add_named(out, "te", bytes_str("trailers"));
}

static int add_frames(struct buf *out, struct bytes block, uint32_t stream,
		      bool is_end)
{
	struct frame frame = {
		.type = FRAME_HEADERS,
		.flags = is_end ? FRAME_FLAG_END : 0,
		.stream = stream,
	};

	do {
		frame.payload = bytes_slice(block, 0, FRAME_PAYLOAD_MAX);
		block = bytes_slice(block, frame.payload.len, block.len);
		if (block.len == 0)
			frame.flags |= FRAME_FLAG_HEAD;
		if (frame_add(out, &frame) < 0)
			return -1;
		frame.type = FRAME_CONTINUATION;
		frame.flags = 0;
	} while (block.len > 0);
	return 0;
}

int fields_write(struct buf *out, struct bytes head, uint32_t stream,
		 bool is_end)
{
	auto_type(buf_release) struct buf block;
	int result = -1;

	/* Neither moves once the credential stands in it. */
	buf_init(&block, fields_bytes_max(head.len));
	if (buf_reserve(&block, block.max) &&
	    buf_reserve(out, fields_bytes_max(head.len)) &&
	    add_block(&block, head) == 0)
		result = add_frames(out, buf_view(&block), stream, is_end);
	if (block.data)
		secret_wipe(block.data, block.size);
	return result;
}
