/*
 * The tree of a GraphQL document and how it is read; shared by graphql*.c
 * alone. All nodes stand in the document's arena.
 */
#ifndef POLICIES_INSPECT_GRAPHQL_PARTS_H
#define POLICIES_INSPECT_GRAPHQL_PARTS_H

#include "common/arena.h"
#include "policies/inspect/graphql.h"

enum graphql_token_kind {
	GRAPHQL_END,
	GRAPHQL_MARK, /* a punctuator: its byte; '.' for "..." */
	GRAPHQL_NAME,
	GRAPHQL_NUMBER,
	GRAPHQL_STRING,
	GRAPHQL_TOKEN_MAX
};

struct graphql_token {
	enum graphql_token_kind kind;
	uint8_t mark;
	struct bytes text; /* a string's value, the others as they stand */
};

enum graphql_value_kind {
	GRAPHQL_VALUE_NULL,
	GRAPHQL_VALUE_TRUE,
	GRAPHQL_VALUE_FALSE,
	GRAPHQL_VALUE_NUMBER,
	GRAPHQL_VALUE_STRING, /* enum values too */
	GRAPHQL_VALUE_LIST,
	GRAPHQL_VALUE_OBJECT,
	GRAPHQL_VALUE_VARIABLE,
	GRAPHQL_VALUE_MAX
};

/* Arguments are values with names, as the fields of an object are. */
struct graphql_value {
	enum graphql_value_kind kind;
	struct bytes name;
	struct bytes text;
	struct graphql_value *first; /* of a list or an object */
	struct graphql_value *next;
};

enum graphql_selection_kind {
	GRAPHQL_FIELD,
	GRAPHQL_SPREAD, /* of the fragment `name` */
	GRAPHQL_INLINE,
	GRAPHQL_SELECTION_MAX
};

struct graphql_selection {
	enum graphql_selection_kind kind;
	struct bytes alias;
	struct bytes name;
	struct graphql_value *arguments;
	struct graphql_selection *first;
	struct graphql_selection *next;
};

struct graphql_variable {
	struct bytes name;
	struct graphql_value *fallback; /* its default; NULL: none */
	struct graphql_variable *next;
};

struct graphql_definition {
	bool is_fragment;
	enum graphql_type type;
	struct bytes name;
	struct graphql_variable *variables;
	struct graphql_selection *selections;
	struct graphql_definition *next;
	size_t index; /* among the fragments */
};

struct graphql_text {
	struct bytes text;
	struct graphql_text *next;
};

struct graphql_document {
	struct arena arena;
	struct graphql_definition *operations;
	struct graphql_definition *fragments;
	struct graphql_text *strings;
	size_t operations_count;
	size_t fragments_count;
};

struct graphql_parser {
	struct graphql_document *document;
	struct bytes rest;
	struct graphql_token token; /* the next one */
	size_t tokens;
	unsigned depth;
	const char *fault; /* the first; NULL: none */
};

/* Read the next token into parser->token; false, the fault set: none. */
bool graphql_next(struct graphql_parser *parser);
/* The value of a string that parser->rest starts with, quotes and all. */
bool graphql_read_string(struct graphql_parser *parser, struct bytes *value);
bool graphql_read_block(struct graphql_parser *parser, struct bytes *value);
/* Set the fault unless one stands; false. */
bool graphql_fail(struct graphql_parser *parser, const char *fault);
/* len zeroed bytes; NULL, the fault set. */
void *graphql_node(struct graphql_parser *parser, size_t len);

/* Is the next token that mark, that word? */
bool graphql_is(const struct graphql_parser *parser, char mark);
bool graphql_is_word(const struct graphql_parser *parser, const char *word);
/* Take that mark; it must be there. */
bool graphql_take(struct graphql_parser *parser, char mark);
bool graphql_take_name(struct graphql_parser *parser, struct bytes *name);

/* (name: value ...) when there is one; constant: no variables in it. */
bool graphql_arguments(struct graphql_parser *parser, bool is_constant,
		       struct graphql_value **first);
bool graphql_value(struct graphql_parser *parser, bool is_constant,
		   struct graphql_value *value);
/* @name(arguments) ..., read and left aside. */
bool graphql_directives(struct graphql_parser *parser, bool is_constant);
/* ($name: type = value @directive ...) when there is one. */
bool graphql_variables(struct graphql_parser *parser,
		       struct graphql_variable **first);
/* { field ... } */
bool graphql_selections(struct graphql_parser *parser,
			struct graphql_selection **first);

struct graphql_definition *
graphql_fragment(const struct graphql_document *document, struct bytes name);
/* NULL; or why the fragments cannot be followed. */
const char *graphql_check_fragments(const struct graphql_document *document);

/* The variables of an operation. */
struct graphql_given {
	const struct graphql_variable *defined;
	json_t *values; /* by name, of those that have one */
};

/* A new reference; NULL when it is a variable without a value, and when
 * *fault is set: an unknown variable, a number that is too large. given may
 * be NULL for constants. */
json_t *graphql_json(const struct graphql_value *value,
		     const struct graphql_given *given, const char **fault);
/* 0, release it then; or -1 and *fault. */
int graphql_given_read(const struct graphql_variable *defined,
		       const json_t *variables, struct graphql_given *given,
		       const char **fault);
void graphql_given_release(struct graphql_given *given);

#endif
