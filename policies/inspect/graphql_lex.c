/* 2.1 of the specification: source text to tokens. */
#include "policies/inspect/graphql_parts.h"

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_start(uint8_t c)
{
	return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static uint8_t at(struct bytes text, size_t index)
{
	return index < text.len ? text.data[index] : '\0';
}

bool graphql_fail(struct graphql_parser *parser, const char *fault)
{
	if (!parser->fault)
		parser->fault = fault;
	return false;
}

void *graphql_node(struct graphql_parser *parser, size_t len)
{
	void *node = arena_alloc(&parser->document->arena, len);

	if (!node)
		graphql_fail(parser, "a GraphQL document is too large");
	return node;
}

static void skip_ignored(struct bytes *text)
{
	size_t i = 0;

	for (; i < text->len; i++) {
		uint8_t c = text->data[i];

		if (c == '#')
			while (i + 1 < text->len && text->data[i + 1] != '\n' &&
			       text->data[i + 1] != '\r')
				i++;
		else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' &&
			 c != ',')
			break;
	}
	*text = bytes_slice(*text, i, text->len);
}

static size_t digits(struct bytes text, size_t from)
{
	size_t len = from;

	while (is_digit(at(text, len)))
		len++;
	return len - from;
}

/* 2.9.1, 2.9.2; 0: none. */
static size_t number_len(struct bytes text)
{
	size_t len = at(text, 0) == '-';
	size_t whole = digits(text, len);

	if (whole == 0 || (whole > 1 && at(text, len) == '0'))
		return 0;
	len += whole;
	if (at(text, len) == '.') {
		size_t part = digits(text, len + 1);

		if (part == 0)
			return 0;
		len += 1 + part;
	}
	if (at(text, len) == 'e' || at(text, len) == 'E') {
		size_t sign =
			at(text, len + 1) == '+' || at(text, len + 1) == '-';
		size_t part = digits(text, len + 1 + sign);

		if (part == 0)
			return 0;
		len += 1 + sign + part;
	}
	if (at(text, len) == '.' || is_name_start(at(text, len)))
		return 0;
	return len;
}

static size_t name_len(struct bytes text)
{
	size_t len = 1;

	while (is_name_start(at(text, len)) || is_digit(at(text, len)))
		len++;
	return len;
}

static bool take(struct graphql_parser *parser, enum graphql_token_kind kind,
		 size_t len)
{
	if (len == 0)
		return graphql_fail(parser, "GraphQL: a number is none");
	parser->token.kind = kind;
	parser->token.text = bytes_slice(parser->rest, 0, len);
	parser->rest = bytes_slice(parser->rest, len, parser->rest.len);
	return true;
}

static bool take_mark(struct graphql_parser *parser, uint8_t c)
{
	size_t len = 1;

	if (c == '.')
		len = bytes_starts_with(parser->rest, bytes_str("...")) ? 3 : 0;
	if (len == 0 || c == '\0' || !strchr("!$&().:=@[]{|}", c))
		return graphql_fail(parser, "GraphQL: an unknown character");
	parser->token.mark = c;
	return take(parser, GRAPHQL_MARK, len);
}

/* Keep it where graphql_string() finds it. */
static bool keep_string(struct graphql_parser *parser)
{
	struct graphql_text *kept = graphql_node(parser, sizeof(*kept));

	if (!kept)
		return false;
	kept->text = parser->token.text;
	kept->next = parser->document->strings;
	parser->document->strings = kept;
	return true;
}

static bool take_string(struct graphql_parser *parser)
{
	static const char quotes[] = "\"\"\"";
	bool is_block = bytes_starts_with(parser->rest, bytes_str(quotes));

	parser->token.kind = GRAPHQL_STRING;
	if (is_block ? !graphql_read_block(parser, &parser->token.text)
		     : !graphql_read_string(parser, &parser->token.text))
		return false;
	return keep_string(parser);
}

bool graphql_next(struct graphql_parser *parser)
{
	uint8_t c;

	if (parser->fault)
		return false;
	skip_ignored(&parser->rest);
	parser->token = (struct graphql_token){.kind = GRAPHQL_END};
	if (parser->rest.len == 0)
		return true;
	if (++parser->tokens > GRAPHQL_TOKENS_MAX)
		return graphql_fail(parser, "a GraphQL document is too large");
	c = parser->rest.data[0];
	if (c == '"')
		return take_string(parser);
	if (c == '-' || is_digit(c))
		return take(parser, GRAPHQL_NUMBER, number_len(parser->rest));
	if (is_name_start(c))
		return take(parser, GRAPHQL_NAME, name_len(parser->rest));
	return take_mark(parser, c);
}
