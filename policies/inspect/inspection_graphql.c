/* GraphQL over HTTP: where the document and its variables stand. */
#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/inspect/form.h"
#include "policies/inspect/graphql.h"
#include "policies/inspect/json.h"
#include "policies/inspect/parts.h"

static const char no_query[] = "GraphQL: there is no query";
static const char no_memory[] = "memory is out";

static struct bytes string_of(const json_t *string)
{
	return bytes_from(json_string_value(string),
			  json_string_length(string));
}

/* Room for count requests. */
static const char *make_room(struct inspection *inspection, size_t count)
{
	if (count == 0)
		return no_query;
	if (count > INSPECT_BATCH_MAX)
		return "GraphQL: a batch is too large";
	inspection->graphql = calloc(count, sizeof(*inspection->graphql));
	return inspection->graphql ? NULL : no_memory;
}

/* The next request, of the text of its document. */
static const char *add(struct inspection *inspection, struct bytes query,
		       struct bytes operation, const json_t *variables)
{
	struct inspected_graphql *made =
		&inspection->graphql[inspection->graphql_count];
	const char *fault;

	made->document = graphql_parse(query, &fault);
	made->operation = operation;
	made->variables = variables;
	inspection->graphql_count += made->document != NULL;
	return fault;
}

/* Members that are there but null are absent. */
static const json_t *member(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

/* Only what names the client, as its libraries do unasked. */
static bool are_harmless(const json_t *extensions)
{
	size_t known = json_object_get(extensions, "clientLibrary") != NULL;

	return !extensions || (json_is_object(extensions) &&
			       json_object_size(extensions) == known);
}

/* Nothing but what every server reads alike: a stored document ("id",
 * "documentId", extensions) cannot be seen. */
static const char *read_object(struct inspection *inspection, json_t *object)
{
	const json_t *query = member(object, "query");
	const json_t *operation = member(object, "operationName");
	const json_t *variables = member(object, "variables");
	const json_t *extensions = member(object, "extensions");
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (strcmp(name, "query") != 0 &&
		    strcmp(name, "operationName") != 0 &&
		    strcmp(name, "variables") != 0 &&
		    strcmp(name, "extensions") != 0)
			return "GraphQL: an unknown member of the request";
	}
	if (!json_is_string(query))
		return no_query;
	if ((operation && !json_is_string(operation)) ||
	    (variables && !json_is_object(variables)))
		return "GraphQL: a member of the request is not what it must "
		       "be";
	if (!are_harmless(extensions))
		return "GraphQL: extensions cannot be judged";
	return add(inspection, string_of(query), string_of(operation),
		   variables);
}

static const char *read_json(struct inspection *inspection)
{
	json_t *root = inspection_json(inspection);
	const char *fault;

	if (!root)
		return inspection_fault(inspection);
	if (!json_is_array(root)) {
		fault = make_room(inspection, 1);
		return fault ? fault : read_object(inspection, root);
	}
	fault = make_room(inspection, json_array_size(root));
	for (size_t i = 0; !fault && i < json_array_size(root); i++)
		fault = read_object(inspection, json_array_get(root, i));
	return fault;
}

/* The parameters of a URL's query that servers read. */
struct parameters {
	struct bytes query;
	struct bytes operation;
	struct bytes variables;
	struct bytes extensions;
	bool is_any;
};

/* In any spelling that some server takes for it: another case, blanks before
 * it, "name[...]". */
static bool is_spelled(struct bytes name, const char *wanted)
{
	ptrdiff_t bracket = bytes_find(name, '[', 0);

	if (bracket >= 0)
		name.len = (size_t)bracket;
	while (name.len && name.data[0] == ' ')
		name = bytes_slice(name, 1, name.len);
	return bytes_is_nocase(name, wanted);
}

static const char *take_parameter(struct parameters *out,
				  const struct field *field)
{
	const struct {
		const char *name;
		struct bytes *to;
	} rows[] = {
		{"query", &out->query},
		{"operationName", &out->operation},
		{"variables", &out->variables},
		{"extensions", &out->extensions},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!is_spelled(field->name, rows[i].name))
			continue;
		if (rows[i].to->data || !bytes_is(field->name, rows[i].name))
			return "GraphQL: a parameter twice, or misspelt";
		*rows[i].to = field->value.data ? field->value : bytes_str("");
		out->is_any = true;
	}
	if (is_spelled(field->name, "documentId") ||
	    is_spelled(field->name, "queryId") || is_spelled(field->name, "id"))
		return "GraphQL: a stored document cannot be judged";
	/* Rails' name for an array as the body: GitLab runs what it holds. */
	if (is_spelled(field->name, "_json"))
		return "GraphQL: a batch in the URL cannot be judged";
	return NULL;
}

static const char *read_parameters(struct inspection *inspection,
				   struct parameters *out)
{
	struct answer *answer = &inspection->answers[INSPECT_GRAPHQL];
	const char *fault = form_read(inspection->source.query, &answer->arena,
				      &answer->fields);

	for (size_t i = 0; !fault && i < answer->fields.count; i++)
		fault = take_parameter(out, &answer->fields.items[i]);
	return fault;
}

/* GraphQL over HTTP 5: GET. */
static const char *read_query(struct inspection *inspection,
			      const struct parameters *from)
{
	const char *fault = make_room(inspection, 1);

	if (fault)
		return fault;
	if (from->query.len == 0)
		return no_query;
	if (from->extensions.len > 0 && !bytes_is(from->extensions, "{}"))
		return "GraphQL: extensions cannot be judged";
	if (from->variables.len > 0) {
		inspection->variables = json_read(from->variables);
		if (!json_is_object(inspection->variables) &&
		    !json_is_null(inspection->variables))
			return "GraphQL: the variables are no JSON object";
	}
	return add(inspection, from->query, from->operation,
		   json_is_object(inspection->variables) ? inspection->variables
							 : NULL);
}

static bool is_text(const struct inspection *inspection)
{
	return inspection->is_typed &&
	       bytes_is_nocase(inspection->media.value, "application/graphql");
}

static const char *read_text(struct inspection *inspection)
{
	const char *fault;

	if (!media_is_utf8(&inspection->media))
		return "the body is not UTF-8";
	fault = make_room(inspection, 1);
	return fault ? fault
		     : add(inspection, inspection->body.content,
			   bytes_from(NULL, 0), NULL);
}

/* In the URL or in the body, never in both: servers choose differently. */
static const char *read_graphql(struct inspection *inspection)
{
	struct parameters parameters = {0};
	const char *fault = read_parameters(inspection, &parameters);

	if (fault)
		return fault;
	if (inspection->body.content.len == 0)
		return read_query(inspection, &parameters);
	if (parameters.is_any)
		return "GraphQL: it stands in the URL and in the body";
	return is_text(inspection) ? read_text(inspection)
				   : read_json(inspection);
}

const struct inspected_graphql *
inspection_graphql(struct inspection *inspection, size_t *count)
{
	const char *fault;

	if (inspection_first(inspection, INSPECT_GRAPHQL,
			     form_arena_max(inspection->source.query.len))) {
		fault = read_graphql(inspection);
		inspection_answered(inspection, INSPECT_GRAPHQL, fault);
	}
	*count = inspection->graphql_count;
	return *inspection->fault ? NULL : inspection->graphql;
}

void inspection_graphql_free(struct inspection *inspection)
{
	for (size_t i = 0; i < inspection->graphql_count; i++)
		graphql_free(inspection->graphql[i].document);
	free(inspection->graphql);
	json_decref(inspection->variables);
}
