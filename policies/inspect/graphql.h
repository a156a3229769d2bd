/*
 * A GraphQL document (specification of October 2021, executable definitions
 * alone) from untrusted text, and what an operation of it does at its root.
 * Everything that is not in the specification is refused.
 *
 *	struct graphql_document *document = graphql_parse(text, &fault);
 *	graphql_operation_read(document, &request, &operation, &fault);
 *	for (i = 0; i < operation.count; i++)
 *		... operation.fields[i].name ...
 */
#ifndef POLICIES_INSPECT_GRAPHQL_H
#define POLICIES_INSPECT_GRAPHQL_H

#include <jansson.h>
#include <stdbool.h>

#include "common/bytes.h"

#define GRAPHQL_TEXT_MAX      (256 * 1024)
#define GRAPHQL_TOKENS_MAX    20000
#define GRAPHQL_DEPTH_MAX     64  /* of selections and values, each */
#define GRAPHQL_EXPANDED_MAX  256 /* of selections through fragments */
#define GRAPHQL_FRAGMENTS_MAX 200
#define GRAPHQL_NAMES_MAX     200  /* arguments, or variables, of one */
#define GRAPHQL_FIELDS_MAX    1000 /* at the root of one operation */

enum graphql_type {
	GRAPHQL_QUERY,
	GRAPHQL_MUTATION,
	GRAPHQL_SUBSCRIPTION,
	GRAPHQL_TYPE_MAX
};

struct graphql_document;

/* The document, the caller's to free; views in it borrow from text. NULL:
 * *fault says why (static): no such text, past a bound, a name twice, a
 * fragment that is missing or spreads itself. */
struct graphql_document *graphql_parse(struct bytes text, const char **fault);
void graphql_free(struct graphql_document *document);

/* Every decoded string of the document in turn, from *at = 0; false after
 * the last. Views live as long as the document. */
bool graphql_string(const struct graphql_document *document, size_t *at,
		    struct bytes *string);

/* Views borrow from the document. */
struct graphql_field {
	struct bytes alias; /* the response name; the name when it has none */
	struct bytes name;
	json_t *arguments; /* an object, variables substituted; enum values
			      as strings */
};

struct graphql_operation {
	enum graphql_type type;
	struct bytes name; /* may be empty */
	struct graphql_field *fields;
	size_t count;
};

/* What would run: the operation of that name, or the only one when the name
 * is empty. Its root fields are those behind fragments too, whatever their
 * type condition, @skip and @include say. variables: an object, or NULL. 0,
 * release it then; or -1 and *fault (static): no such operation, several
 * and no name, a variable that is not defined, too many fields. */
int graphql_operation_read(const struct graphql_document *document,
			   struct bytes name, const json_t *variables,
			   struct graphql_operation *operation,
			   const char **fault);
void graphql_operation_release(struct graphql_operation *operation);

#endif
