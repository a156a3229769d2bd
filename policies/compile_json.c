/*
 * body.json: what must stand at which place of a JSON text.
 */
#include "common/cleanup.h"
#include "policies/compile.h"

struct json_nodes {
	const struct text_node *pointer, *equals, *one_of, *matches, *absent;
};

/* RFC 8259 6: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static bool is_number(struct bytes text)
{
	const char *digits = "0123456789";
	char word[READER_WORD_MAX + 1];
	const char *at = word;
	size_t len;

	if (text.len > READER_WORD_MAX || text.len == 0)
		return false;
	memcpy(word, text.data, text.len);
	word[text.len] = '\0';
	at += *at == '-';
	len = strspn(at, digits);
	if (len == 0 || (*at == '0' && len > 1))
		return false;
	at += len;
	if (*at == '.') {
		len = strspn(++at, digits);
		if (len == 0)
			return false;
		at += len;
	}
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '+' || *at == '-';
		len = strspn(at, digits);
		if (len == 0)
			return false;
		at += len;
	}
	return at == word + text.len;
}

static bool is_null(const struct text_node *node)
{
	return node->kind == TEXT_SCALAR && node->is_plain &&
	       bytes_is(node->value, "null");
}

/* A plain word that JSON knows is what it is there; all else is a string. */
static bool is_literal(const struct text_node *node)
{
	return node->is_plain &&
	       (bytes_is(node->value, "true") ||
		bytes_is(node->value, "false") || is_number(node->value));
}

/* A reader_item_fn: a JSON value, as policy_rule.h has it. */
static bool value_item(struct reader *reader, const struct text_node *node,
		       void *item)
{
	struct bytes text = node->value;
	const char *copy;

	if (!is_null(node) &&
	    !compile_expand(compile_of(reader), node, EXPAND_TEXT, &text))
		return false;
	copy = is_null(node) || is_literal(node)
		       ? arena_format(reader->arena, "%.*s", BYTES_ARGS(text))
		       : arena_format(reader->arena, "\"%.*s\"",
				      BYTES_ARGS(text));
	if (!copy)
		return reader_error(reader, node, "no memory");
	*(struct bytes *)item = bytes_str(copy);
	return true;
}

/* RFC 6901: "" or "/" and so on, '~' only as "~0" and "~1". */
static bool read_pointer(struct reader *reader, const struct text_node *node,
			 struct bytes *pointer)
{
	struct bytes text;

	if (!reader_word(reader, node, &text))
		return false;
	if (text.len && text.data[0] != '/')
		return reader_error(reader, node,
				    "a JSON pointer starts with '/'");
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '~' &&
		    (i + 1 == text.len ||
		     (text.data[i + 1] != '0' && text.data[i + 1] != '1')))
			return reader_error(reader, node,
					    "'~' is written \"~0\" and '/' "
					    "\"~1\" in a JSON pointer");
	*pointer = text;
	return true;
}

static bool read_equals(struct reader *reader, const struct text_node *node,
			struct policy_json *json)
{
	struct bytes *value = arena_alloc(reader->arena, sizeof(*value));

	json->test = JSON_EQUALS;
	json->values = (struct policy_strings){value, 1};
	return value && value_item(reader, node, value);
}

static bool read_absent(struct reader *reader, const struct text_node *node,
			struct policy_json *json)
{
	bool is_absent;

	json->test = JSON_ABSENT;
	return reader_bool(reader, node, &is_absent) &&
	       (is_absent || reader_error(reader, node, "this must be true"));
}

static bool read_test(struct reader *reader, const struct text_node *node,
		      const struct json_nodes *nodes, struct policy_json *json)
{
	if (!nodes->equals + !nodes->one_of + !nodes->matches +
		    !nodes->absent !=
	    3)
		return reader_error(reader, node,
				    "this must say one of equals, one-of, "
				    "matches and absent");
	if (nodes->absent)
		return read_absent(reader, nodes->absent, json);
	if (nodes->equals)
		return read_equals(reader, nodes->equals, json);
	if (nodes->matches) {
		json->test = JSON_MATCHES;
		return compile_pattern(compile_of(reader), nodes->matches,
				       &json->pattern);
	}
	json->test = JSON_ONE_OF;
	if (!reader_strings(reader, nodes->one_of, value_item, &json->values))
		return false;
	return nodes->one_of->count > 0 ||
	       reader_error(reader, nodes->one_of, "an empty list");
}

static bool json_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	static const struct reader_field fields[] = {
		{"pointer", reader_keep, offsetof(struct json_nodes, pointer)},
		{"equals", reader_keep, offsetof(struct json_nodes, equals)},
		{"one-of", reader_keep, offsetof(struct json_nodes, one_of)},
		{"matches", reader_keep, offsetof(struct json_nodes, matches)},
		{"absent", reader_keep, offsetof(struct json_nodes, absent)},
	};
	struct json_nodes nodes = {NULL, NULL, NULL, NULL, NULL};
	struct policy_json *json = item;

	return reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes) &&
	       reader_require(reader, node, "pointer") &&
	       read_pointer(reader, nodes.pointer, &json->pointer) &&
	       read_test(reader, node, &nodes, json);
}

void compile_json(struct compile *compile, const struct text_node *node,
		  struct policy_body *body)
{
	void *items = NULL;
	size_t count = 0;

	if (!reader_list(&compile->reader, node, sizeof(struct policy_json),
			 json_item, &items, &count))
		return;
	if (node->count == 0 || node->count > POLICY_MATCHES_MAX)
		(void)reader_error(&compile->reader, node,
				   "this must have 1 to %d entries",
				   POLICY_MATCHES_MAX);
	body->json = items;
	body->json_count = count;
}
