/*
 * A rule's body.graphql against every root field that the body would run.
 */
#include <stdlib.h>

#include "policies/decide_body.h"
#include "policies/inspect/graphql.h"
#include "policies/inspect/inspection.h"
#include "policies/nodes.h"
#include "policies/pattern.h"

/* Several values seen as one: all of them, none, or some. */
struct several {
	size_t count, whole, none;
};

static void several_add(struct several *several, enum holds one)
{
	several->count++;
	several->whole += one == HOLDS;
	several->none += one == HOLDS_NOT;
}

static enum holds several_hold(const struct several *several)
{
	if (several->none == several->count)
		return HOLDS_NOT;
	return several->whole == several->count ? HOLDS : HOLDS_PARTLY;
}

/* ---- arguments ---- */

/* Numbers and so on as JSON writes them. */
static enum holds scalar_holds(const struct pattern *pattern,
			       const json_t *value)
{
	enum pattern_answer answer = PATTERN_UNSURE;
	char *text;

	if (json_is_string(value)) {
		answer = pattern_ask(pattern,
				     bytes_from(json_string_value(value),
						json_string_length(value)));
	} else {
		text = json_dumps(value, JSON_ENCODE_ANY);
		if (text)
			answer = pattern_ask(pattern, bytes_str(text));
		free(text);
	}
	if (answer == PATTERN_UNSURE)
		return HOLDS_PARTLY;
	return answer == PATTERN_MATCHES ? HOLDS : HOLDS_NOT;
}

/* path: "input.head", empty at its end. Values nest no deeper than
 * GRAPHQL_DEPTH_MAX; a list stands for each of its values. */
static enum holds path_holds(const struct pattern *pattern, const json_t *value,
			     struct bytes path)
{
	struct several several = {0};
	struct bytes name;

	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++)
			several_add(&several,
				    path_holds(pattern,
					       json_array_get(value, i), path));
		return several_hold(&several);
	}
	if (!value || json_is_null(value))
		return HOLDS_NOT;
	if (path.len == 0)
		return json_is_object(value) ? HOLDS_NOT
					     : scalar_holds(pattern, value);
	(void)bytes_split(&path, '.', &name);
	return path_holds(
		pattern,
		json_object_getn(value, (const char *)name.data, name.len),
		path);
}

static enum holds arguments_hold(struct hearing *hearing,
				 const struct policy_matches *matches,
				 const struct graphql_field *field)
{
	enum holds all = HOLDS;

	for (size_t i = 0; i < matches->count; i++) {
		struct bytes path = matches->items[i].name;
		struct bytes name;
		enum holds one;

		(void)bytes_split(&path, '.', &name);
		if (!bytes_equal(name, field->name))
			continue;
		one = path_holds(matches->items[i].pattern, field->arguments,
				 path);
		if (one != HOLDS)
			hearing->differs = matches->items[i].name;
		all = holds_both(all, one);
	}
	return all;
}

/* A list stands for each of its values; null is none. */
static bool is_given(const json_t *value, struct bytes path)
{
	struct bytes name;

	if (path.len == 0)
		return value && !json_is_null(value);
	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++)
			if (is_given(json_array_get(value, i), path))
				return true;
		return false;
	}
	(void)bytes_split(&path, '.', &name);
	return is_given(
		json_object_getn(value, (const char *)name.data, name.len),
		path);
}

static enum holds are_absent(struct hearing *hearing,
			     const struct policy_strings *absent,
			     const struct graphql_field *field)
{
	for (size_t i = 0; i < absent->count; i++) {
		struct bytes path = absent->items[i];
		struct bytes name;

		(void)bytes_split(&path, '.', &name);
		if (bytes_equal(name, field->name) &&
		    is_given(field->arguments, path)) {
			hearing->differs = absent->items[i];
			return HOLDS_NOT;
		}
	}
	return HOLDS;
}

/* What they are of is asked later; that they are ids is known now. */
static enum holds nodes_are_named(struct hearing *hearing,
				  const struct policy_graphql *asked,
				  const struct graphql_field *field)
{
	for (size_t i = 0; i < asked->node_count; i++)
		if (!nodes_add(&asked->nodes[i], field->name, field->arguments,
			       NULL)) {
			hearing->differs = asked->nodes[i].argument;
			return HOLDS_NOT;
		}
	return HOLDS;
}

/* ---- fields ---- */

static bool any_field(const struct policy_strings *patterns, struct bytes name)
{
	for (size_t i = 0; i < patterns->count; i++) {
		struct bytes pattern = patterns->items[i];
		struct bytes start = bytes_slice(pattern, 0, pattern.len - 1);

		if (pattern.data[pattern.len - 1] == '*'
			    ? bytes_starts_with(name, start)
			    : bytes_equal(name, pattern))
			return true;
	}
	return patterns->count == 0;
}

static enum holds field_holds(struct hearing *hearing,
			      const struct policy_graphql *asked,
			      enum graphql_type type,
			      const struct graphql_field *field)
{
	static const unsigned bits[GRAPHQL_TYPE_MAX] = {
		[GRAPHQL_QUERY] = POLICY_QUERY,
		[GRAPHQL_MUTATION] = POLICY_MUTATION,
		[GRAPHQL_SUBSCRIPTION] = POLICY_SUBSCRIPTION,
	};

	if ((asked->operations & bits[type]) &&
	    any_field(&asked->fields, field->name))
		return holds_both(
			arguments_hold(hearing, &asked->arguments, field),
			holds_both(are_absent(hearing, &asked->absent, field),
				   nodes_are_named(hearing, asked, field)));
	hearing->differs = field->name;
	return HOLDS_NOT;
}

/* One request of a batch. False: it cannot be read. */
static bool add_request(struct hearing *hearing,
			const struct policy_graphql *asked,
			const struct inspected_graphql *request,
			struct several *several)
{
	struct graphql_operation operation;
	const char *fault;

	if (graphql_operation_read(request->document, request->operation,
				   request->variables, &operation, &fault)) {
		hearing->differs = bytes_str(fault);
		return false;
	}
	for (size_t i = 0; i < operation.count; i++)
		several_add(several, field_holds(hearing, asked, operation.type,
						 &operation.fields[i]));
	graphql_operation_release(&operation);
	return true;
}

bool meet_graphql(struct meeting *meeting, const struct policy_rule *rule,
		  struct hearing *hearing)
{
	const struct policy_graphql *asked = rule->body->graphql;
	const struct request_facts *facts = hearing->facts;
	const struct inspected_graphql *requests;
	struct several several = {0};
	size_t count = 0;

	if (!asked)
		return true;
	if (!facts->query.len && inspection_content(facts->body).len == 0) {
		hearing->differs = bytes_str("there is none");
		return meeting_add(meeting, rule, RULE_GRAPHQL, HOLDS_NOT);
	}
	requests = inspection_graphql(facts->body, &count);
	if (!requests) {
		hearing->differs = bytes_str(inspection_fault(facts->body));
		return meeting_add(meeting, rule, RULE_BODY_UNREADABLE,
				   HOLDS_PARTLY);
	}
	for (size_t i = 0; i < count; i++)
		if (!add_request(hearing, asked, &requests[i], &several))
			return meeting_add(meeting, rule, RULE_BODY_UNREADABLE,
					   HOLDS_PARTLY);
	return meeting_add(meeting, rule, RULE_GRAPHQL, several_hold(&several));
}
