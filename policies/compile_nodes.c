/*
 * body.graphql.nodes: what the ids in arguments must be of.
 */
#include "common/cleanup.h"
#include "policies/compile.h"

struct node_nodes {
	const struct text_node *repository, *head;
};

static bool read_repository(struct compile *compile,
			    const struct text_node *node, struct bytes *name)
{
	struct bytes owner;
	struct bytes rest;

	if (!compile_expand(compile, node, EXPAND_TEXT, name))
		return false;
	rest = *name;
	if (bytes_split(&rest, '/', &owner) && owner.len && rest.len &&
	    bytes_find(rest, '/', 0) < 0)
		return true;
	return reader_error(&compile->reader, node,
			    "a repository is named as OWNER/NAME here");
}

static bool read_node(struct compile *compile, const struct text_node *node,
		      struct policy_node *made)
{
	static const struct reader_field fields[] = {
		{"repository", reader_keep,
		 offsetof(struct node_nodes, repository)},
		{"head", reader_keep, offsetof(struct node_nodes, head)},
	};
	struct node_nodes nodes = {NULL, NULL};

	made->argument = arena_copy(compile->reader.arena, node->key);
	if (!compile_is_argument(made->argument))
		text_error(&compile->reader.source, node->key_at,
			   "\"%.*s\" is not like field.argument",
			   BYTES_ARGS(node->key));
	return reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			  &nodes) &&
	       reader_require(&compile->reader, node, "repository") &&
	       read_repository(compile, nodes.repository, &made->repository) &&
	       (!nodes.head ||
		compile_expand(compile, nodes.head, EXPAND_TEXT, &made->head));
}

void compile_nodes(struct compile *compile, const struct text_node *node,
		   struct policy_graphql *graphql)
{
	struct policy_node *made = compile_named(compile, node, sizeof(*made));

	if (!made)
		return;
	graphql->nodes = made;
	for (const struct text_node *item = node->first; item;
	     item = item->next)
		(void)read_node(compile, item, &made[graphql->node_count++]);
}
