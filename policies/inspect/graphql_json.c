/* Values of a document as JSON, variables substituted. */
#include "policies/inspect/graphql_parts.h"
#include "policies/inspect/json.h"

/* The value of json_object_setn_new() and its kind, whose failure is that
 * memory is out. */
static bool is_kept(int rc, const char **fault)
{
	if (rc < 0)
		*fault = "memory is out";
	return rc == 0;
}

static json_t *list_json(const struct graphql_value *item,
			 const struct graphql_given *given, const char **fault)
{
	json_t *list = json_array();

	for (; item && !*fault; item = item->next) {
		json_t *value = graphql_json(item, given, fault);

		if (!value && !*fault)
			value = json_null();
		if (!*fault)
			(void)is_kept(json_array_append_new(list, value),
				      fault);
	}
	return list;
}

static json_t *object_json(const struct graphql_value *item,
			   const struct graphql_given *given,
			   const char **fault)
{
	json_t *object = json_object();

	for (; item && !*fault; item = item->next) {
		json_t *value = graphql_json(item, given, fault);

		if (value)
			(void)is_kept(json_object_setn_new(
					      object,
					      (const char *)item->name.data,
					      item->name.len, value),
				      fault);
	}
	return object;
}

static json_t *variable_json(struct bytes name,
			     const struct graphql_given *given,
			     const char **fault)
{
	const struct graphql_variable *defined = given ? given->defined : NULL;

	while (defined && !bytes_equal(defined->name, name))
		defined = defined->next;
	if (!defined) {
		*fault = "GraphQL: a variable is not defined";
		return NULL;
	}
	return json_incref(json_object_getn(given->values,
					    (const char *)name.data, name.len));
}

static json_t *number_json(struct bytes text, const char **fault)
{
	json_t *number = json_read(text);

	if (!number)
		*fault = "GraphQL: a number is too large";
	return number;
}

static json_t *make(const struct graphql_value *value,
		    const struct graphql_given *given, const char **fault)
{
	switch (value->kind) {
	case GRAPHQL_VALUE_TRUE:
		return json_true();
	case GRAPHQL_VALUE_FALSE:
		return json_false();
	case GRAPHQL_VALUE_NUMBER:
		return number_json(value->text, fault);
	case GRAPHQL_VALUE_STRING:
		return json_stringn(
			value->text.data ? (const char *)value->text.data : "",
			value->text.len);
	case GRAPHQL_VALUE_LIST:
		return list_json(value->first, given, fault);
	case GRAPHQL_VALUE_OBJECT:
		return object_json(value->first, given, fault);
	case GRAPHQL_VALUE_VARIABLE:
		return variable_json(value->text, given, fault);
	case GRAPHQL_VALUE_NULL:
	case GRAPHQL_VALUE_MAX:
		break;
	}
	return json_null();
}

json_t *graphql_json(const struct graphql_value *value,
		     const struct graphql_given *given, const char **fault)
{
	json_t *json;

	*fault = NULL;
	json = make(value, given, fault);
	if (!json && !*fault && value->kind != GRAPHQL_VALUE_VARIABLE)
		*fault = "memory is out";
	if (!*fault)
		return json;
	json_decref(json);
	return NULL;
}

int graphql_given_read(const struct graphql_variable *defined,
		       const json_t *variables, struct graphql_given *given,
		       const char **fault)
{
	given->defined = defined;
	given->values = json_object();
	*fault = given->values ? NULL : "memory is out";
	for (; defined && !*fault; defined = defined->next) {
		const char *name = (const char *)defined->name.data;
		size_t len = defined->name.len;
		json_t *value =
			json_incref(json_object_getn(variables, name, len));

		if (!value && defined->fallback)
			value = graphql_json(defined->fallback, NULL, fault);
		if (value)
			(void)is_kept(json_object_setn_new(given->values, name,
							   len, value),
				      fault);
	}
	if (!*fault)
		return 0;
	graphql_given_release(given);
	return -1;
}

void graphql_given_release(struct graphql_given *given)
{
	json_decref(given->values);
	given->values = NULL;
}
