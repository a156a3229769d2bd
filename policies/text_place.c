#include <stdarg.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/utf8.h"
#include "policies/text.h"

#define MESSAGE_MAX 1024
/* Of a longer line, what stands around the caret is shown. */
#define SHOWN_MAX    100
#define SHOWN_BEFORE 60

/* Where an offset is, as editors count. */
struct place {
	size_t line;	   /* 1.. */
	size_t column;	   /* 1.., in characters */
	struct bytes text; /* the whole line */
	size_t offset;	   /* in it */
};

static size_t characters(struct bytes text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += (text.data[i] & 0xc0) != 0x80;
	return count;
}

static struct place place_of(struct bytes source, size_t at)
{
	struct place place = {.line = 1};
	size_t start = 0;
	ptrdiff_t end;

	if (at > source.len)
		at = source.len;
	for (size_t i = 0; i < at; i++) {
		if (source.data[i] == '\n') {
			place.line++;
			start = i + 1;
		}
	}
	end = bytes_find(source, '\n', start);
	place.text =
		bytes_slice(source, start, end < 0 ? source.len : (size_t)end);
	place.offset = at - start;
	place.column = characters(bytes_slice(place.text, 0, place.offset)) + 1;
	return place;
}

/* Untrusted text for a terminal: nothing that could move its cursor, one
 * cell a character. How many characters. */
static size_t add_shown(struct buf *out, struct bytes text)
{
	size_t count = 0;

	while (text.len) {
		size_t len = utf8_len(text);
		bool shows = len && text.data[0] >= 0x20 &&
			     text.data[0] != 0x7f &&
			     !(len == 2 && text.data[0] == 0xc2 &&
			       text.data[1] < 0xa0);

		if (shows)
			(void)buf_add(out, bytes_slice(text, 0, len));
		else
			(void)buf_add_byte(out,
					   text.data[0] == '\t' ? ' ' : '?');
		text = bytes_slice(text, len ? len : 1, text.len);
		count++;
	}
	return count;
}

/* The start of a character at or before at. */
static size_t character_start(struct bytes text, size_t at)
{
	while (at > 0 && at < text.len && (text.data[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static void add_line(struct buf *out, const struct place *place)
{
	struct bytes line = place->text;
	size_t from = 0;
	size_t to = line.len;
	size_t caret;

	if (line.len && line.data[line.len - 1] == '\r')
		to--;
	if (to > SHOWN_MAX) {
		if (place->offset > SHOWN_BEFORE)
			from = character_start(line,
					       place->offset - SHOWN_BEFORE);
		if (to > from + SHOWN_MAX)
			to = character_start(line, from + SHOWN_MAX);
	}
	caret = add_shown(out, bytes_slice(line, from, place->offset));
	(void)add_shown(out, bytes_slice(line, place->offset, to));
	(void)buf_add_format(out, "\n%*s\n", (int)caret + 1, "^");
}

void text_error(const struct text_source *source, size_t at, const char *format,
		...)
{
	struct policy_errors *errors = source->errors;
	char message[MESSAGE_MAX];
	struct place place;
	va_list args;

	errors->count++;
	if (!errors->out || errors->count > POLICY_ERRORS_MAX + 1)
		return;
	if (errors->count == POLICY_ERRORS_MAX + 1) {
		(void)buf_add_format(errors->out, "%s: there are more errors\n",
				     source->file);
		return;
	}
	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	place = place_of(source->bytes, at);
	(void)buf_add_format(errors->out, "%s:%zu:%zu: ", source->file,
			     place.line, place.column);
	(void)add_shown(errors->out, bytes_str(message));
	(void)buf_add_byte(errors->out, '\n');
	add_line(errors->out, &place);
}

void text_find_keys(const struct text_source *source,
		    const struct text_node *root, const struct text_key *keys,
		    size_t count, struct text_place *places)
{
	for (size_t i = 0; i < count; i++) {
		const struct text_node *node = text_child(root, keys[i].name);

		if (node && keys[i].child)
			node = text_child(node, keys[i].child);
		if (node)
			places[i] = (struct text_place){
				source->file,
				(unsigned)place_of(source->bytes, node->key_at)
					.line};
	}
}
