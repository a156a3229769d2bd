#include "policies/nodes.h"

#include "policies/inspect/graphql.h"
#include "policies/inspect/inspection.h"
#include "policies/inspect/json.h"

/* ---- the ids of a mutation ---- */

static struct bytes string_of(const json_t *value)
{
	return bytes_from(json_string_value(value), json_string_length(value));
}

/* Letters of base64, of either alphabet. */
static bool is_id(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && !(c && strchr("_-=+/", c)))
			return false;
	}
	return text.len > 0 && text.len <= NODE_ID_MAX;
}

static bool add(const struct policy_node *asked, struct bytes id,
		struct node_questions *questions)
{
	if (!is_id(id))
		return false;
	if (!questions)
		return true;
	if (questions->count == NODES_MAX)
		return false;
	questions->items[questions->count++] =
		(struct node_question){id, asked};
	return true;
}

/* path: "input.id", empty at its end; a list stands for each of its values.
 * Values nest no deeper than GRAPHQL_DEPTH_MAX. */
static bool add_at(const struct policy_node *asked, const json_t *value,
		   struct bytes path, struct node_questions *questions)
{
	struct bytes name;

	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++)
			if (!add_at(asked, json_array_get(value, i), path,
				    questions))
				return false;
		return json_array_size(value) > 0;
	}
	if (path.len == 0)
		return json_is_string(value) &&
		       add(asked, string_of(value), questions);
	(void)bytes_split(&path, '.', &name);
	return add_at(
		asked,
		json_object_getn(value, (const char *)name.data, name.len),
		path, questions);
}

bool nodes_add(const struct policy_node *asked, struct bytes field,
	       const json_t *arguments, struct node_questions *questions)
{
	struct bytes path = asked->argument;
	struct bytes name;

	(void)bytes_split(&path, '.', &name);
	return !bytes_equal(name, field) ||
	       add_at(asked, arguments, path, questions);
}

/* The strings of an operation end with it. */
static int keep(struct node_questions *questions, size_t from,
		struct arena *arena)
{
	for (size_t i = from; i < questions->count; i++) {
		struct bytes copy = arena_copy(arena, questions->items[i].id);

		if (!copy.data)
			return -1;
		questions->items[i].id = copy;
	}
	return 0;
}

static int collect(const struct policy_graphql *asked,
		   const struct inspected_graphql *request, struct arena *arena,
		   struct node_questions *questions)
{
	struct graphql_operation operation;
	size_t from = questions->count;
	const char *fault;
	int rc = 0;

	if (graphql_operation_read(request->document, request->operation,
				   request->variables, &operation, &fault))
		return -1;
	for (size_t i = 0; i < operation.count * asked->node_count; i++) {
		const struct graphql_field *field =
			&operation.fields[i / asked->node_count];

		if (!nodes_add(&asked->nodes[i % asked->node_count],
			       field->name, field->arguments, questions))
			rc = -1;
	}
	if (keep(questions, from, arena))
		rc = -1;
	graphql_operation_release(&operation);
	return rc;
}

int nodes_collect(const struct policy_rule *rule, struct inspection *body,
		  struct arena *arena, struct node_questions *questions)
{
	const struct policy_graphql *asked =
		rule && rule->body ? rule->body->graphql : NULL;
	const struct inspected_graphql *requests;
	size_t count = 0;

	questions->count = 0;
	if (!asked || asked->node_count == 0)
		return 0;
	requests = inspection_graphql(body, &count);
	for (size_t i = 0; requests && i < count; i++)
		if (collect(asked, &requests[i], arena, questions))
			return -1;
	return requests ? 0 : -1;
}

/* ---- the query ---- */

static const char fragment[] =
	"fragment f on Node{__typename ...on Repository{nameWithOwner} ...on "
	"Issue{repository{nameWithOwner}} ...on PullRequest{repository{"
	"nameWithOwner} headRefName headRepository{nameWithOwner}}}";

static int write_document(const struct node_questions *questions,
			  struct buf *out)
{
	if (buf_add_str(out, "query(") < 0)
		return -1;
	for (size_t i = 0; i < questions->count; i++)
		if (buf_add_format(out, "$i%zu:ID!", i) < 0)
			return -1;
	if (buf_add_str(out, "){") < 0)
		return -1;
	for (size_t i = 0; i < questions->count; i++)
		if (buf_add_format(out, "n%zu:node(id:$i%zu){...f}", i, i) < 0)
			return -1;
	return buf_add_format(out, "}%s", fragment);
}

int nodes_write(const struct node_questions *questions, struct buf *out)
{
	if (buf_add_str(out, "{\"query\":\"") < 0 ||
	    write_document(questions, out) < 0 ||
	    buf_add_str(out, "\",\"variables\":{") < 0)
		return -1;
	/* An id has no letter that JSON would escape. */
	for (size_t i = 0; i < questions->count; i++)
		if (buf_add_format(out, "%s\"i%zu\":\"%.*s\"", i ? "," : "", i,
				   BYTES_ARGS(questions->items[i].id)) < 0)
			return -1;
	return buf_add_str(out, "}}");
}

/* ---- the answer ---- */

static bool is_text(const json_t *value, struct bytes wanted)
{
	return json_is_string(value) && bytes_equal(string_of(value), wanted);
}

/* Of a repository; GitHub does not care about case there. */
static bool is_repository(const json_t *repository, struct bytes wanted)
{
	const json_t *name = json_object_get(repository, "nameWithOwner");

	return json_is_string(name) &&
	       bytes_equal_nocase(string_of(name), wanted);
}

static bool is_inside(const json_t *node, struct bytes repository)
{
	bool is_one = is_text(json_object_get(node, "__typename"),
			      bytes_str("Repository"));

	return is_repository(is_one ? node
				    : json_object_get(node, "repository"),
			     repository);
}

static bool is_own(const json_t *node, const struct policy_node *asked)
{
	return is_text(json_object_get(node, "__typename"),
		       bytes_str("PullRequest")) &&
	       is_text(json_object_get(node, "headRefName"), asked->head) &&
	       is_repository(json_object_get(node, "headRepository"),
			     asked->repository);
}

/* A text that is full is cut short: it decides nothing. */
static bool holds(const struct node_question *question, const json_t *node,
		  struct buf *why)
{
	const struct policy_node *asked = question->asked;
	struct bytes id = question->id;

	if (!json_is_object(node))
		(void)buf_add_format(why,
				     "nothing that this session may know of "
				     "has the id %.*s",
				     BYTES_ARGS(id));
	else if (!is_inside(node, asked->repository))
		(void)buf_add_format(why, "%.*s is not of %.*s", BYTES_ARGS(id),
				     BYTES_ARGS(asked->repository));
	else if (asked->head.len && !is_own(node, asked))
		(void)buf_add_format(why,
				     "%.*s is not a pull request from the "
				     "branch %.*s of %.*s",
				     BYTES_ARGS(id), BYTES_ARGS(asked->head),
				     BYTES_ARGS(asked->repository));
	else
		return true;
	return false;
}

bool nodes_hold(const struct node_questions *questions, struct bytes reply,
		struct buf *why)
{
	json_t *root = json_read(reply);
	const json_t *data = json_object_get(root, "data");
	bool all = true;

	for (size_t i = 0; all && i < questions->count; i++) {
		char name[] = "n00";

		(void)snprintf(name, sizeof(name), "n%u",
			       (unsigned)(i % NODES_MAX));
		all = holds(&questions->items[i], json_object_get(data, name),
			    why);
	}
	json_decref(root);
	return all;
}
