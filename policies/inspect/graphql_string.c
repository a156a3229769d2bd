/* 2.9.4 of the specification: strings and block strings. */
#include "policies/inspect/graphql_parts.h"

#define QUOTES_LEN 3 /* of a block string */

static const char bad_string[] = "GraphQL: a string is none";

struct writer {
	uint8_t *to;
	size_t len;
};

static void put_utf8(struct writer *out, uint32_t c)
{
	if (c < 0x80) {
		out->to[out->len++] = (uint8_t)c;
	} else if (c < 0x800) {
		out->to[out->len++] = (uint8_t)(0xc0 | c >> 6);
		out->to[out->len++] = (uint8_t)(0x80 | (c & 0x3f));
	} else {
		if (c < 0x10000) {
			out->to[out->len++] = (uint8_t)(0xe0 | c >> 12);
		} else {
			out->to[out->len++] = (uint8_t)(0xf0 | c >> 18);
			out->to[out->len++] =
				(uint8_t)(0x80 | (c >> 12 & 0x3f));
		}
		out->to[out->len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out->to[out->len++] = (uint8_t)(0x80 | (c & 0x3f));
	}
}

/* The four hex digits after "\u" at the front of text; -1: none. */
static int32_t unit_at(struct bytes text)
{
	uint8_t raw[2];

	if (text.len < 6 || text.data[0] != '\\' || text.data[1] != 'u' ||
	    bytes_from_hex(bytes_slice(text, 2, 6), raw) < 0)
		return -1;
	return raw[0] << 8 | raw[1];
}

/* One \u escape, or two that are a pair; its length, or 0. */
static size_t put_unicode(struct writer *out, struct bytes text)
{
	int32_t unit = unit_at(text);
	int32_t low;

	if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff))
		return 0;
	if (unit < 0xd800 || unit > 0xdbff) {
		put_utf8(out, (uint32_t)unit);
		return 6;
	}
	low = unit_at(bytes_slice(text, 6, text.len));
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	put_utf8(out, 0x10000 + ((uint32_t)(unit - 0xd800) << 10) +
			      (uint32_t)(low - 0xdc00));
	return 12;
}

/* The length of the escape at the front of text, or 0. */
static size_t put_escape(struct writer *out, struct bytes text)
{
	static const char names[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (text.len < 2)
		return 0;
	if (text.data[1] == 'u')
		return put_unicode(out, text);
	name = text.data[1] ? strchr(names, text.data[1]) : NULL;
	if (!name)
		return 0;
	out->to[out->len++] = (uint8_t)values[name - names];
	return 2;
}

static bool finish(struct graphql_parser *parser, size_t used,
		   const struct writer *out, struct bytes *value)
{
	*value = bytes_from(out->to, out->len);
	parser->rest = bytes_slice(parser->rest, used, parser->rest.len);
	return true;
}

/* The offset of the quote that ends the string; 0: none does. */
static size_t string_end(struct bytes text)
{
	for (size_t i = 1; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (c == '"')
			return i;
		if (c == '\n' || c == '\r')
			return 0;
		i += c == '\\';
	}
	return 0;
}

bool graphql_read_string(struct graphql_parser *parser, struct bytes *value)
{
	struct bytes text = parser->rest;
	size_t end = string_end(text);
	struct writer out = {0};
	size_t i = 1;

	if (end == 0)
		return graphql_fail(parser, bad_string);
	out.to = graphql_node(parser, end);
	if (!out.to)
		return false;
	while (i < end) {
		size_t len = 1;

		if (text.data[i] == '\\')
			len = put_escape(&out, bytes_slice(text, i, end));
		else
			out.to[out.len++] = text.data[i];
		if (len == 0)
			return graphql_fail(parser, bad_string);
		i += len;
	}
	return finish(parser, end + 1, &out, value);
}

/* The next line off *text, without its end. */
static struct bytes take_line(struct bytes *text)
{
	struct bytes line;
	size_t len = 0;
	size_t end;

	while (len < text->len && text->data[len] != '\n' &&
	       text->data[len] != '\r')
		len++;
	end = len + (len < text->len);
	if (end < text->len && text->data[len] == '\r' &&
	    text->data[end] == '\n')
		end++;
	line = bytes_slice(*text, 0, len);
	*text = bytes_slice(*text, end, text->len);
	return line;
}

static size_t indent_of(struct bytes line)
{
	size_t len = 0;

	while (len < line.len &&
	       (line.data[len] == ' ' || line.data[len] == '\t'))
		len++;
	return len;
}

/* BlockStringValue(): the indent that all lines but the first share, and
 * where the first and the last line that are not blank stand. */
struct block {
	size_t indent;
	size_t first;
	size_t last;
	bool is_blank;
};

static struct block measure(struct bytes raw)
{
	struct block block = {.indent = SIZE_MAX, .is_blank = true};

	for (size_t i = 0; raw.len > 0; i++) {
		struct bytes line = take_line(&raw);
		size_t indent = indent_of(line);

		if (indent == line.len)
			continue;
		if (i > 0 && indent < block.indent)
			block.indent = indent;
		if (block.is_blank)
			block.first = i;
		block.is_blank = false;
		block.last = i;
	}
	return block;
}

static void put_block(struct writer *out, struct bytes raw)
{
	struct block block = measure(raw);

	for (size_t i = 0; !block.is_blank && i <= block.last; i++) {
		struct bytes line = take_line(&raw);

		if (i < block.first)
			continue;
		if (i > 0)
			line = bytes_slice(line, block.indent, line.len);
		if (i > block.first)
			out->to[out->len++] = '\n';
		if (line.len > 0)
			memcpy(out->to + out->len, line.data, line.len);
		out->len += line.len;
	}
}

static bool is_quotes(struct bytes text, size_t at)
{
	return bytes_starts_with(bytes_slice(text, at, text.len),
				 bytes_str("\"\"\""));
}

/* \""" stands for three quotes; nothing else is an escape. */
static bool is_escape(struct bytes text, size_t at)
{
	return text.data[at] == '\\' && is_quotes(text, at + 1);
}

/* The offset of the quotes that end it; 0: none do. */
static size_t block_end(struct bytes text)
{
	size_t i = QUOTES_LEN;

	while (i < text.len && !is_quotes(text, i))
		i += is_escape(text, i) ? 1 + QUOTES_LEN : 1;
	return i < text.len ? i : 0;
}

bool graphql_read_block(struct graphql_parser *parser, struct bytes *value)
{
	struct bytes text = parser->rest;
	size_t end = block_end(text);
	struct writer raw = {0};
	struct writer out = {0};

	if (end == 0)
		return graphql_fail(parser, bad_string);
	raw.to = graphql_node(parser, end);
	out.to = graphql_node(parser, end);
	if (!raw.to || !out.to)
		return false;
	for (size_t i = QUOTES_LEN; i < end; i++) {
		i += is_escape(text, i);
		raw.to[raw.len++] = text.data[i];
	}
	put_block(&out, bytes_from(raw.to, raw.len));
	return finish(parser, end + QUOTES_LEN, &out, value);
}
