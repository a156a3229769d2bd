/* What a request says beside its path. */
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/decode.h"

#define PAIRS_MAX 1100 /* beyond them none is looked at */

size_t exchange_query_all(struct exchange *exchange, const char *name,
			  struct bytes *values, size_t max)
{
	struct bytes query = exchange->query_raw, key, value;
	size_t count = 0;

	for (size_t i = 0; i < PAIRS_MAX && count < max; i++) {
		if (decode_pair(exchange->arena, &query, &key, &value) <= 0)
			break;
		if (bytes_is(key, name))
			values[count++] = value;
	}
	return count;
}

bool exchange_query(struct exchange *exchange, const char *name,
		    struct bytes *value)
{
	return exchange_query_all(exchange, name, value, 1) == 1;
}

bool exchange_query_number(struct exchange *exchange, const char *name,
			   uint64_t max, uint64_t *value)
{
	struct bytes text;
	uint64_t number;

	if (!exchange_query(exchange, name, &text))
		return true;
	if (bytes_to_u64(text, 19, &number) < 0 || number > max) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "%s must be a number up to %llu", name,
			      (unsigned long long)max);
		return false;
	}
	*value = number;
	return true;
}

bool exchange_query_flag(struct exchange *exchange, const char *name,
			 bool *value)
{
	struct bytes text;

	if (!exchange_query(exchange, name, &text))
		return true;
	if (text.len == 0 || bytes_is(text, "true") || bytes_is(text, "1")) {
		*value = true;
	} else if (bytes_is(text, "false") || bytes_is(text, "0")) {
		*value = false;
	} else {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "%s must be true or false", name);
		return false;
	}
	return true;
}

struct bytes exchange_field(const struct exchange *exchange, const char *name)
{
	const struct field *field = fields_find(exchange->fields, name);

	return field ? field->value : bytes_from(NULL, 0);
}

json_t *exchange_json(struct exchange *exchange)
{
	json_error_t error;
	json_t *value =
		json_loadb((const char *)exchange->body.data,
			   exchange->body.len, JSON_REJECT_DUPLICATES, &error);

	if (!value)
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "the body is no JSON: line %d, column %d: %s",
			      error.line, error.column, error.text);
	return value;
}
