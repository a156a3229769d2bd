/* 2.9, 2.10 of the specification: values, arguments, variables. */
#include "policies/inspect/graphql_parts.h"

bool graphql_is(const struct graphql_parser *parser, char mark)
{
	return parser->token.kind == GRAPHQL_MARK &&
	       parser->token.mark == (uint8_t)mark;
}

bool graphql_is_word(const struct graphql_parser *parser, const char *word)
{
	return parser->token.kind == GRAPHQL_NAME &&
	       bytes_is(parser->token.text, word);
}

bool graphql_take(struct graphql_parser *parser, char mark)
{
	if (!graphql_is(parser, mark))
		return graphql_fail(parser, "GraphQL: it is not well-formed");
	return graphql_next(parser);
}

bool graphql_take_name(struct graphql_parser *parser, struct bytes *name)
{
	if (parser->token.kind != GRAPHQL_NAME)
		return graphql_fail(parser, "GraphQL: a name is missing");
	*name = parser->token.text;
	return graphql_next(parser);
}

static bool is_named(const struct graphql_value *first, struct bytes name)
{
	for (; first; first = first->next)
		if (bytes_equal(first->name, name))
			return true;
	return false;
}

/* name: value, up to the mark `end`, which is taken. */
static bool take_named(struct graphql_parser *parser, bool is_constant,
		       char end, struct graphql_value **first)
{
	struct graphql_value **tail = first;
	size_t count = 0;

	while (!graphql_is(parser, end)) {
		struct graphql_value *item =
			graphql_node(parser, sizeof(*item));

		if (!item || !graphql_take_name(parser, &item->name) ||
		    !graphql_take(parser, ':') ||
		    !graphql_value(parser, is_constant, item))
			return false;
		if (++count > GRAPHQL_NAMES_MAX || is_named(*first, item->name))
			return graphql_fail(parser, "GraphQL: a name twice");
		*tail = item;
		tail = &item->next;
	}
	return graphql_next(parser);
}

static bool take_list(struct graphql_parser *parser, bool is_constant,
		      struct graphql_value *list)
{
	struct graphql_value **tail = &list->first;

	while (!graphql_is(parser, ']')) {
		struct graphql_value *item =
			graphql_node(parser, sizeof(*item));

		if (!item || !graphql_value(parser, is_constant, item))
			return false;
		*tail = item;
		tail = &item->next;
	}
	return graphql_next(parser);
}

static bool take_composite(struct graphql_parser *parser, bool is_constant,
			   struct graphql_value *value)
{
	bool is_list = graphql_is(parser, '[');
	bool is_good;

	if (++parser->depth > GRAPHQL_DEPTH_MAX)
		return graphql_fail(parser, "GraphQL: too deep");
	value->kind = is_list ? GRAPHQL_VALUE_LIST : GRAPHQL_VALUE_OBJECT;
	is_good =
		graphql_take(parser, is_list ? '[' : '{') &&
		(is_list ? take_list(parser, is_constant, value)
			 : take_named(parser, is_constant, '}', &value->first));
	parser->depth--;
	return is_good;
}

static enum graphql_value_kind kind_of_word(struct bytes word)
{
	if (bytes_is(word, "true"))
		return GRAPHQL_VALUE_TRUE;
	if (bytes_is(word, "false"))
		return GRAPHQL_VALUE_FALSE;
	return bytes_is(word, "null") ? GRAPHQL_VALUE_NULL
				      : GRAPHQL_VALUE_STRING;
}

bool graphql_value(struct graphql_parser *parser, bool is_constant,
		   struct graphql_value *value)
{
	const struct graphql_token *token = &parser->token;

	if (graphql_is(parser, '[') || graphql_is(parser, '{'))
		return take_composite(parser, is_constant, value);
	if (graphql_is(parser, '$') && !is_constant) {
		value->kind = GRAPHQL_VALUE_VARIABLE;
		return graphql_next(parser) &&
		       graphql_take_name(parser, &value->text);
	}
	value->text = token->text;
	if (token->kind == GRAPHQL_NUMBER)
		value->kind = GRAPHQL_VALUE_NUMBER;
	else if (token->kind == GRAPHQL_STRING)
		value->kind = GRAPHQL_VALUE_STRING;
	else if (token->kind == GRAPHQL_NAME)
		value->kind = kind_of_word(token->text);
	else
		return graphql_fail(parser, "GraphQL: a value is missing");
	return graphql_next(parser);
}

bool graphql_arguments(struct graphql_parser *parser, bool is_constant,
		       struct graphql_value **first)
{
	if (!graphql_is(parser, '('))
		return true;
	if (!graphql_next(parser))
		return false;
	if (graphql_is(parser, ')'))
		return graphql_fail(parser, "GraphQL: it is not well-formed");
	return take_named(parser, is_constant, ')', first);
}

bool graphql_directives(struct graphql_parser *parser, bool is_constant)
{
	while (graphql_is(parser, '@')) {
		struct graphql_value *arguments = NULL;
		struct bytes name;

		if (!graphql_next(parser) ||
		    !graphql_take_name(parser, &name) ||
		    !graphql_arguments(parser, is_constant, &arguments))
			return false;
	}
	return true;
}

/* Name, [type], each with or without '!'; of no interest to us. */
static bool skip_type(struct graphql_parser *parser)
{
	unsigned open = 0;
	struct bytes name;

	while (graphql_is(parser, '[')) {
		if (++open > GRAPHQL_DEPTH_MAX || !graphql_next(parser))
			return graphql_fail(parser, "GraphQL: too deep");
	}
	if (!graphql_take_name(parser, &name))
		return false;
	for (;;) {
		if (graphql_is(parser, '!') && !graphql_next(parser))
			return false;
		if (open-- == 0)
			return true;
		if (!graphql_take(parser, ']'))
			return false;
	}
}

static bool is_defined(const struct graphql_variable *first, struct bytes name)
{
	for (; first; first = first->next)
		if (bytes_equal(first->name, name))
			return true;
	return false;
}

static bool take_variable(struct graphql_parser *parser,
			  struct graphql_variable *variable)
{
	if (!graphql_take(parser, '$') ||
	    !graphql_take_name(parser, &variable->name) ||
	    !graphql_take(parser, ':') || !skip_type(parser))
		return false;
	if (graphql_is(parser, '=')) {
		variable->fallback =
			graphql_node(parser, sizeof(*variable->fallback));
		if (!variable->fallback || !graphql_next(parser) ||
		    !graphql_value(parser, true, variable->fallback))
			return false;
	}
	return graphql_directives(parser, true);
}

bool graphql_variables(struct graphql_parser *parser,
		       struct graphql_variable **first)
{
	struct graphql_variable **tail = first;
	size_t count = 0;

	if (!graphql_is(parser, '('))
		return true;
	if (!graphql_next(parser))
		return false;
	do {
		struct graphql_variable *variable =
			graphql_node(parser, sizeof(*variable));

		if (!variable || !take_variable(parser, variable))
			return false;
		if (++count > GRAPHQL_NAMES_MAX ||
		    is_defined(*first, variable->name))
			return graphql_fail(parser, "GraphQL: a name twice");
		*tail = variable;
		tail = &variable->next;
	} while (!graphql_is(parser, ')'));
	return graphql_next(parser);
}
