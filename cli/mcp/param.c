#include "cli/mcp/param.h"

#include <string.h>

#include "common/cleanup.h"

static json_t *schema_of(const struct param *param)
{
	json_t *schema = json_pack("{s:s}", "description", param->description);
	const char *type = "string";
	json_t *items = NULL;

	if (param->type == PARAM_NUMBER)
		type = "integer";
	else if (param->type == PARAM_WORDS)
		type = "array";
	else if (param->type == PARAM_MAP)
		type = "object";
	(void)json_object_set_new(schema, "type", json_string(type));
	if (param->type == PARAM_NUMBER) {
		(void)json_object_set_new(schema, "minimum", json_integer(0));
		(void)json_object_set_new(schema, "maximum",
					  json_integer(param->max));
		return schema;
	}
	if (param->type == PARAM_TEXT) {
		(void)json_object_set_new(schema, "maxLength",
					  json_integer(param->max));
		return schema;
	}
	items = json_pack("{s:s}", "type", "string");
	(void)json_object_set_new(
		schema,
		param->type == PARAM_MAP ? "additionalProperties" : "items",
		items);
	(void)json_object_set_new(
		schema, param->type == PARAM_MAP ? "maxProperties" : "maxItems",
		json_integer(param->max));
	return schema;
}

json_t *param_schema(const struct param *params)
{
	json_t *properties = json_object(), *required = json_array();

	for (; params->name; params++) {
		(void)json_object_set_new(properties, params->name,
					  schema_of(params));
		if (params->is_required)
			(void)json_array_append_new(required,
						    json_string(params->name));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties",
			 properties, "required", required,
			 "additionalProperties", 0);
}

/* What becomes a word of a command line. */
static bool is_text(const json_t *value, int64_t max)
{
	return json_is_string(value) &&
	       strlen(json_string_value(value)) == json_string_length(value) &&
	       (int64_t)json_string_length(value) <= max;
}

static int check_words(const struct param *param, json_t *value,
		       struct err *err)
{
	size_t index;
	json_t *item;

	if (!json_is_array(value) || json_array_size(value) == 0 ||
	    (int64_t)json_array_size(value) > param->max)
		return err_set(err, ERR_INVALID,
			       "%s must be a list of 1 to %lld strings",
			       param->name, (long long)param->max);
	json_array_foreach(value, index, item) if (
		!is_text(item, INT64_MAX)) return err_set(err, ERR_INVALID,
							  "%s must hold "
							  "strings without NUL",
							  param->name);
	return 0;
}

static bool is_variable(const char *name)
{
	return name[0] && !strchr(name, '=');
}

static int check_map(const struct param *param, json_t *value, struct err *err)
{
	const char *key;
	json_t *item;

	if (!json_is_object(value) ||
	    (int64_t)json_object_size(value) > param->max)
		return err_set(err, ERR_INVALID,
			       "%s must be an object of at most %lld strings",
			       param->name, (long long)param->max);
	json_object_foreach(value, key, item) if (
		!is_variable(key) ||
		!is_text(item,
			 INT64_MAX)) return err_set(err, ERR_INVALID,
						    "%s must hold strings "
						    "without NUL, by "
						    "names without '='",
						    param->name);
	return 0;
}

static int check_one(const struct param *param, json_t *value, struct err *err)
{
	json_int_t number = json_integer_value(value);

	switch (param->type) {
	case PARAM_WORDS:
		return check_words(param, value, err);
	case PARAM_MAP:
		return check_map(param, value, err);
	case PARAM_NUMBER:
		if (json_is_integer(value) && number >= 0 &&
		    number <= param->max)
			return 0;
		return err_set(err, ERR_INVALID,
			       "%s must be a number from 0 to %lld",
			       param->name, (long long)param->max);
	case PARAM_TEXT:
	default:
		if (is_text(value, param->max))
			return 0;
		return err_set(err, ERR_INVALID,
			       "%s must be a string without NUL of at most "
			       "%lld bytes",
			       param->name, (long long)param->max);
	}
}

static bool is_known(const struct param *params, const char *name)
{
	for (; params->name; params++)
		if (!strcmp(params->name, name))
			return true;
	return false;
}

int param_check(const struct param *params, json_t *arguments, struct err *err)
{
	const char *key;
	json_t *value;

	if (arguments && !json_is_object(arguments))
		return err_set(err, ERR_INVALID,
			       "the arguments must be an object");
	json_object_foreach(arguments, key, value) if (
		!is_known(params,
			  key)) return err_set(err, ERR_INVALID,
					       "there is no argument %.64s",
					       key);
	for (; params->name; params++) {
		value = json_object_get(arguments, params->name);
		if (!value && params->is_required)
			return err_set(err, ERR_INVALID, "%s is missing",
				       params->name);
		if (value && check_one(params, value, err) < 0)
			return -1;
	}
	return 0;
}
