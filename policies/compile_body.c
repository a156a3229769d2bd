/*
 * A rule's body: what it must be like.
 */
#include "common/cleanup.h"
#include "policies/compile.h"

/* ---- graphql ---- */

struct graphql_nodes {
	const struct text_node *operations, *fields, *arguments, *absent,
		*nodes;
};

static bool operation_item(struct reader *reader, const struct text_node *node,
			   void *item)
{
	static const struct choice choices[] = {
		{"query", POLICY_QUERY},
		{"mutation", POLICY_MUTATION},
		{"subscription", POLICY_SUBSCRIPTION},
	};

	return reader_choice(reader, node, choices, ARRAY_SIZE(choices), item);
}

static bool is_name(struct bytes text, const char *also)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && c != '_' &&
		    !(c && strchr(also, c)))
			return false;
	}
	return text.len > 0;
}

static bool field_item(struct reader *reader, const struct text_node *node,
		       void *item)
{
	struct bytes text;
	struct bytes name;

	if (!reader_word(reader, node, &text))
		return false;
	name = text;
	if (name.len && name.data[name.len - 1] == '*')
		name.len--;
	if (name.len && !is_name(name, ""))
		return reader_error(reader, node,
				    "this must be a field's name, with '*' at "
				    "its end for any that start so");
	if (text.len == 0)
		return reader_error(reader, node, "an empty name");
	*(struct bytes *)item = text;
	return true;
}

static void read_operations(struct compile *compile,
			    const struct text_node *node,
			    struct policy_graphql *graphql)
{
	void *items = NULL;
	size_t count = 0;

	if (!reader_list(&compile->reader, node, sizeof(int), operation_item,
			 &items, &count))
		return;
	if (node->count == 0)
		(void)reader_error(&compile->reader, node, "an empty list");
	graphql->operations = 0;
	for (size_t i = 0; i < count; i++)
		graphql->operations |= (unsigned)((const int *)items)[i];
}

bool compile_is_argument(struct bytes name)
{
	return is_name(name, ".") && bytes_find(name, '.', 1) >= 0 &&
	       name.data[name.len - 1] != '.' && name.data[0] != '.' &&
	       bytes_find_bytes(name, bytes_str(".."), 0) < 0;
}

static void read_arguments(struct compile *compile,
			   const struct text_node *node,
			   struct policy_graphql *graphql)
{
	compile_matches(compile, node, false, &graphql->arguments);
	for (size_t i = 0; i < graphql->arguments.count; i++) {
		struct bytes name = graphql->arguments.items[i].name;

		if (!compile_is_argument(name))
			text_error(&compile->reader.source, node->at,
				   "\"%.*s\" is not like field.argument",
				   BYTES_ARGS(name));
	}
}

static bool absent_item(struct reader *reader, const struct text_node *node,
			void *item)
{
	struct bytes name;

	if (!reader_word(reader, node, &name))
		return false;
	if (!compile_is_argument(name))
		return reader_error(reader, node,
				    "\"%.*s\" is not like field.argument",
				    BYTES_ARGS(name));
	*(struct bytes *)item = name;
	return true;
}

static void read_graphql(struct compile *compile, const struct text_node *node,
			 struct policy_body *body)
{
	static const struct reader_field fields[] = {
		{"operations", reader_keep,
		 offsetof(struct graphql_nodes, operations)},
		{"fields", reader_keep, offsetof(struct graphql_nodes, fields)},
		{"arguments", reader_keep,
		 offsetof(struct graphql_nodes, arguments)},
		{"absent", reader_keep, offsetof(struct graphql_nodes, absent)},
		{"nodes", reader_keep, offsetof(struct graphql_nodes, nodes)},
	};
	struct graphql_nodes nodes = {NULL, NULL, NULL, NULL, NULL};
	struct policy_graphql *graphql =
		arena_alloc(compile->reader.arena, sizeof(*graphql));

	if (!graphql || !reader_map(&compile->reader, node, fields,
				    ARRAY_SIZE(fields), &nodes))
		return;
	graphql->operations =
		POLICY_QUERY | POLICY_MUTATION | POLICY_SUBSCRIPTION;
	if (nodes.operations)
		read_operations(compile, nodes.operations, graphql);
	if (nodes.fields &&
	    reader_strings(&compile->reader, nodes.fields, field_item,
			   &graphql->fields) &&
	    nodes.fields->count == 0)
		(void)reader_error(&compile->reader, nodes.fields,
				   "an empty list");
	if (nodes.arguments)
		read_arguments(compile, nodes.arguments, graphql);
	if (nodes.absent &&
	    reader_strings(&compile->reader, nodes.absent, absent_item,
			   &graphql->absent) &&
	    nodes.absent->count == 0)
		(void)reader_error(&compile->reader, nodes.absent,
				   "an empty list");
	if (nodes.nodes)
		compile_nodes(compile, nodes.nodes, graphql);
	body->graphql = graphql;
}

/* ---- all of it ---- */

struct body_nodes {
	const struct text_node *max, *json, *form, *multipart, *secrets,
		*graphql;
};

static void read_max(struct compile *compile, const struct text_node *node,
		     struct policy_body *body)
{
	uint64_t bytes;

	if (!reader_size(&compile->reader, node, &bytes))
		return;
	if (bytes > POLICY_BODY_MAX)
		(void)reader_error(&compile->reader, node, "more than %dMiB",
				   POLICY_BODY_MAX / 1024 / 1024);
	else
		body->max = bytes;
}

void compile_deny_secrets(struct compile *compile, const struct text_node *node,
			  bool *deny)
{
	static const struct choice choices[] = {{"deny", 1}};
	int value;

	if (reader_choice(&compile->reader, node, choices, ARRAY_SIZE(choices),
			  &value))
		*deny = true;
}

static void read_parts(struct compile *compile, const struct body_nodes *nodes,
		       struct policy_body *body)
{
	if (nodes->max)
		read_max(compile, nodes->max, body);
	if (nodes->json)
		compile_json(compile, nodes->json, body);
	if (nodes->form)
		compile_matches(compile, nodes->form, false, &body->form);
	if (nodes->multipart)
		compile_matches(compile, nodes->multipart, false,
				&body->multipart);
	if (nodes->secrets)
		compile_deny_secrets(compile, nodes->secrets,
				     &body->deny_secrets);
	if (nodes->graphql)
		read_graphql(compile, nodes->graphql, body);
}

const struct policy_body *compile_body(struct compile *compile,
				       const struct text_node *node)
{
	static const struct reader_field fields[] = {
		{"max", reader_keep, offsetof(struct body_nodes, max)},
		{"json", reader_keep, offsetof(struct body_nodes, json)},
		{"form", reader_keep, offsetof(struct body_nodes, form)},
		{"multipart", reader_keep,
		 offsetof(struct body_nodes, multipart)},
		{"secrets", reader_keep, offsetof(struct body_nodes, secrets)},
		{"graphql", reader_keep, offsetof(struct body_nodes, graphql)},
	};
	struct body_nodes nodes = {NULL, NULL, NULL, NULL, NULL, NULL};
	struct policy_body *body =
		arena_alloc(compile->reader.arena, sizeof(*body));

	if (!reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			&nodes))
		return NULL;
	if (!body) {
		(void)reader_error(&compile->reader, node,
				   "the text is too large to be read");
		return NULL;
	}
	if (node->count == 0)
		(void)reader_error(&compile->reader, node,
				   "this must say something of the body");
	body->max = POLICY_BODY_MAX_DEFAULT;
	read_parts(compile, &nodes, body);
	return body;
}
