/* What an operation does at its root, fragments followed. */
#include <assert.h>
#include <stdlib.h>

#include "policies/inspect/graphql_parts.h"

static const char too_large[] = "GraphQL: an operation is too large";
static const char too_deep[] = "GraphQL: too deep";
static const char no_memory[] = "memory is out";

struct graphql_definition *
graphql_fragment(const struct graphql_document *document, struct bytes name)
{
	struct graphql_definition *fragment = document->fragments;

	while (fragment && !bytes_equal(fragment->name, name))
		fragment = fragment->next;
	return fragment;
}

/* 5.5.2: following fragments, each once; then its height is known. */
struct walk {
	const struct graphql_document *document;
	struct {
		bool is_open; /* we are in it */
		unsigned height;
	} fragments[GRAPHQL_FRAGMENTS_MAX];
	unsigned depth;
	const char *fault;
};

static unsigned walk_selections(struct walk *walk,
				const struct graphql_selection *selection);

static unsigned walk_fragment(struct walk *walk, struct bytes name)
{
	const struct graphql_definition *fragment =
		graphql_fragment(walk->document, name);
	size_t index;

	if (!fragment) {
		walk->fault = "GraphQL: a fragment is missing";
		return 0;
	}
	index = fragment->index;
	if (walk->fragments[index].is_open) {
		walk->fault = "GraphQL: a fragment spreads itself";
		return 0;
	}
	if (walk->fragments[index].height == 0) {
		walk->fragments[index].is_open = true;
		walk->fragments[index].height =
			walk_selections(walk, fragment->selections);
		walk->fragments[index].is_open = false;
	}
	return walk->fragments[index].height;
}

/* The height of what stands there, fragments included. */
static unsigned walk_selections(struct walk *walk,
				const struct graphql_selection *selection)
{
	unsigned most = 0;

	if (walk->depth >= GRAPHQL_EXPANDED_MAX)
		walk->fault = too_deep;
	walk->depth++;
	for (; selection && !walk->fault; selection = selection->next) {
		unsigned height = 0;

		if (selection->kind == GRAPHQL_SPREAD)
			height = walk_fragment(walk, selection->name);
		else if (selection->first)
			height = walk_selections(walk, selection->first);
		if (height > most)
			most = height;
	}
	walk->depth--;
	if (walk->depth + most + 1 > GRAPHQL_EXPANDED_MAX && !walk->fault)
		walk->fault = too_deep;
	return most + 1;
}

const char *graphql_check_fragments(const struct graphql_document *document)
{
	struct walk walk = {.document = document};
	const struct graphql_definition *definition;

	for (definition = document->fragments; definition && !walk.fault;
	     definition = definition->next)
		(void)walk_fragment(&walk, definition->name);
	for (definition = document->operations; definition && !walk.fault;
	     definition = definition->next)
		(void)walk_selections(&walk, definition->selections);
	return walk.fault;
}

/* 6.3.2, without types: each fragment once. */
struct collect {
	const struct graphql_document *document;
	struct graphql_operation *operation;
	struct graphql_given given;
	bool is_seen[GRAPHQL_FRAGMENTS_MAX];
	const char *fault;
};

static json_t *read_arguments(struct collect *collect,
			      const struct graphql_selection *field)
{
	const struct graphql_value object = {.kind = GRAPHQL_VALUE_OBJECT,
					     .first = field->arguments};

	return graphql_json(&object, &collect->given, &collect->fault);
}

static void collect_field(struct collect *collect,
			  const struct graphql_selection *selection)
{
	struct graphql_operation *operation = collect->operation;
	struct graphql_field *field = &operation->fields[operation->count];

	if (operation->count == GRAPHQL_FIELDS_MAX) {
		collect->fault = too_large;
		return;
	}
	field->alias = selection->alias;
	field->name = selection->name;
	field->arguments = read_arguments(collect, selection);
	if (field->arguments)
		operation->count++;
	else if (!collect->fault)
		collect->fault = no_memory;
}

/* Its recursion was measured by graphql_check_fragments(). */
static void collect_fields(struct collect *collect,
			   const struct graphql_selection *selection)
{
	for (; selection && !collect->fault; selection = selection->next) {
		const struct graphql_selection *inner = selection->first;

		if (selection->kind == GRAPHQL_FIELD) {
			collect_field(collect, selection);
			continue;
		}
		if (selection->kind == GRAPHQL_SPREAD) {
			const struct graphql_definition *fragment =
				graphql_fragment(collect->document,
						 selection->name);

			assert(fragment);
			inner = collect->is_seen[fragment->index]
					? NULL
					: fragment->selections;
			collect->is_seen[fragment->index] = true;
		}
		collect_fields(collect, inner);
	}
}

static const struct graphql_definition *
choose(const struct graphql_document *document, struct bytes name,
       const char **fault)
{
	const struct graphql_definition *operation = document->operations;

	if (name.len == 0 && operation->next) {
		*fault = "GraphQL: several operations and no operationName";
		return NULL;
	}
	while (name.len > 0 && operation && !bytes_equal(operation->name, name))
		operation = operation->next;
	if (!operation)
		*fault = "GraphQL: no operation has the operationName";
	return operation;
}

int graphql_operation_read(const struct graphql_document *document,
			   struct bytes name, const json_t *variables,
			   struct graphql_operation *operation,
			   const char **fault)
{
	const struct graphql_definition *chosen = choose(document, name, fault);
	struct collect collect = {.document = document, .operation = operation};

	if (!chosen || graphql_given_read(chosen->variables, variables,
					  &collect.given, fault) < 0)
		return -1;
	operation->type = chosen->type;
	operation->name = chosen->name;
	operation->count = 0;
	operation->fields =
		calloc(GRAPHQL_FIELDS_MAX, sizeof(*operation->fields));
	if (operation->fields)
		collect_fields(&collect, chosen->selections);
	else
		collect.fault = no_memory;
	graphql_given_release(&collect.given);
	if (!collect.fault)
		return 0;
	*fault = collect.fault;
	graphql_operation_release(operation);
	return -1;
}

void graphql_operation_release(struct graphql_operation *operation)
{
	for (size_t i = 0; i < operation->count; i++)
		json_decref(operation->fields[i].arguments);
	free(operation->fields);
	*operation = (struct graphql_operation){0};
}
