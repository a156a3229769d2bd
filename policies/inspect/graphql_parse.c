/* 2.2 to 2.8 of the specification: documents, operations, fragments. */
#include <stdlib.h>

#include "common/utf8.h"
#include "policies/inspect/graphql_parts.h"

/* Each byte of text is at most one node's, or a string's twice. */
#define ARENA_MAX ((size_t)16 * 1024 * 1024)

static const char not_well_formed[] = "GraphQL: it is not well-formed";

static bool take_word(struct graphql_parser *parser, const char *word)
{
	if (!graphql_is_word(parser, word))
		return graphql_fail(parser, not_well_formed);
	return graphql_next(parser);
}

/* name or alias: name, (arguments), directives, { ... } */
static bool take_field(struct graphql_parser *parser,
		       struct graphql_selection *field)
{
	if (!graphql_take_name(parser, &field->name))
		return false;
	field->alias = field->name;
	if (graphql_is(parser, ':') &&
	    (!graphql_next(parser) || !graphql_take_name(parser, &field->name)))
		return false;
	return graphql_arguments(parser, false, &field->arguments) &&
	       graphql_directives(parser, false) &&
	       (!graphql_is(parser, '{') ||
		graphql_selections(parser, &field->first));
}

/* After "...": a fragment's name, or `on Type` or nothing and { ... }. */
static bool take_spread(struct graphql_parser *parser,
			struct graphql_selection *spread)
{
	struct bytes type;

	if (parser->token.kind == GRAPHQL_NAME &&
	    !graphql_is_word(parser, "on")) {
		spread->kind = GRAPHQL_SPREAD;
		return graphql_take_name(parser, &spread->name) &&
		       graphql_directives(parser, false);
	}
	spread->kind = GRAPHQL_INLINE;
	if (graphql_is_word(parser, "on") &&
	    (!graphql_next(parser) || !graphql_take_name(parser, &type)))
		return false;
	return graphql_directives(parser, false) &&
	       graphql_selections(parser, &spread->first);
}

static bool take_selection(struct graphql_parser *parser,
			   struct graphql_selection *selection)
{
	if (!graphql_is(parser, '.'))
		return take_field(parser, selection);
	return graphql_next(parser) && take_spread(parser, selection);
}

bool graphql_selections(struct graphql_parser *parser,
			struct graphql_selection **first)
{
	if (++parser->depth > GRAPHQL_DEPTH_MAX)
		return graphql_fail(parser, "GraphQL: too deep");
	if (!graphql_take(parser, '{'))
		return false;
	do {
		struct graphql_selection *selection =
			graphql_node(parser, sizeof(*selection));

		if (!selection || !take_selection(parser, selection))
			return false;
		*first = selection;
		first = &selection->next;
	} while (!graphql_is(parser, '}'));
	parser->depth--;
	return graphql_next(parser);
}

static bool take_type(struct graphql_parser *parser, enum graphql_type *type)
{
	static const char *const words[GRAPHQL_TYPE_MAX] = {
		[GRAPHQL_QUERY] = "query",
		[GRAPHQL_MUTATION] = "mutation",
		[GRAPHQL_SUBSCRIPTION] = "subscription",
	};

	for (unsigned i = 0; i < GRAPHQL_TYPE_MAX; i++)
		if (graphql_is_word(parser, words[i])) {
			*type = (enum graphql_type)i;
			return graphql_next(parser);
		}
	return graphql_fail(parser, "GraphQL: an unknown definition");
}

static bool take_operation(struct graphql_parser *parser,
			   struct graphql_definition *operation)
{
	if (graphql_is(parser, '{'))
		return graphql_selections(parser, &operation->selections);
	if (!take_type(parser, &operation->type))
		return false;
	if (parser->token.kind == GRAPHQL_NAME &&
	    !graphql_take_name(parser, &operation->name))
		return false;
	return graphql_variables(parser, &operation->variables) &&
	       graphql_directives(parser, false) &&
	       graphql_selections(parser, &operation->selections);
}

static bool take_fragment(struct graphql_parser *parser,
			  struct graphql_definition *fragment)
{
	struct bytes type;

	fragment->is_fragment = true;
	if (!graphql_next(parser) || graphql_is_word(parser, "on"))
		return graphql_fail(parser, not_well_formed);
	return graphql_take_name(parser, &fragment->name) &&
	       take_word(parser, "on") && graphql_take_name(parser, &type) &&
	       graphql_directives(parser, false) &&
	       graphql_selections(parser, &fragment->selections);
}

/* At the end of its list; a name there twice, or none beside others, is a
 * fault. */
static bool add(struct graphql_parser *parser,
		struct graphql_definition *definition,
		struct graphql_definition **tail, size_t *count)
{
	for (; *tail; tail = &(*tail)->next)
		if (bytes_equal((*tail)->name, definition->name) ||
		    (*tail)->name.len == 0 || definition->name.len == 0)
			return graphql_fail(parser, "GraphQL: a name twice");
	if (*count == GRAPHQL_FRAGMENTS_MAX)
		return graphql_fail(parser, "a GraphQL document is too large");
	definition->index = (*count)++;
	*tail = definition;
	return true;
}

static bool take_definition(struct graphql_parser *parser)
{
	struct graphql_document *document = parser->document;
	struct graphql_definition *definition =
		graphql_node(parser, sizeof(*definition));

	if (!definition)
		return false;
	if (graphql_is_word(parser, "fragment"))
		return take_fragment(parser, definition) &&
		       add(parser, definition, &document->fragments,
			   &document->fragments_count);
	return take_operation(parser, definition) &&
	       add(parser, definition, &document->operations,
		   &document->operations_count);
}

/* 2.1.1, and UTF-8. */
static bool is_source(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') ||
		    c == 0x7f)
			return false;
	}
	return utf8_valid_len(text) == text.len;
}

static const char *read_document(struct graphql_document *document,
				 struct bytes text)
{
	struct graphql_parser parser = {.document = document, .rest = text};

	if (text.len > GRAPHQL_TEXT_MAX)
		return "a GraphQL document is too large";
	if (!is_source(text))
		return "GraphQL: an unknown character";
	(void)graphql_next(&parser);
	while (!parser.fault && parser.token.kind != GRAPHQL_END)
		(void)take_definition(&parser);
	if (parser.fault)
		return parser.fault;
	if (!document->operations)
		return "GraphQL: no operation";
	return graphql_check_fragments(document);
}

struct graphql_document *graphql_parse(struct bytes text, const char **fault)
{
	struct graphql_document *document = calloc(1, sizeof(*document));

	*fault = "memory is out";
	if (!document)
		return NULL;
	arena_init(&document->arena, ARENA_MAX);
	*fault = read_document(document, text);
	if (!*fault)
		return document;
	graphql_free(document);
	return NULL;
}

void graphql_free(struct graphql_document *document)
{
	if (!document)
		return;
	arena_release(&document->arena);
	free(document);
}

bool graphql_string(const struct graphql_document *document, size_t *at,
		    struct bytes *string)
{
	const struct graphql_text *text = document->strings;

	for (size_t i = 0; text && i < *at; i++)
		text = text->next;
	if (!text)
		return false;
	(*at)++;
	*string = text->text;
	return true;
}
