/*
 * Bodies as forms, multipart and JSON: the first byte chooses which. Names
 * and values of a form are UTF-8 without NUL; contents of a multipart body
 * stand in it, between its boundaries.
 */
#include <assert.h>

#include "common/utf8.h"
#include "policies/inspect/inspection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_text(struct bytes text)
{
	assert(utf8_valid_len(text) == text.len);
	assert(bytes_find(text, '\0', 0) < 0);
}

static void check_form(const struct fields *fields, struct bytes body)
{
	assert(fields->count <= INSPECT_FIELDS_MAX);
	for (size_t i = 0; i < fields->count; i++) {
		check_text(fields->items[i].name);
		check_text(fields->items[i].value);
		assert(fields->items[i].value.len <= body.len);
	}
}

static void check_multipart(const struct fields *fields, struct bytes body)
{
	const uint8_t *end = body.data;

	assert(fields->count <= INSPECT_FIELDS_MAX);
	for (size_t i = 0; i < fields->count; i++) {
		struct bytes content = fields->items[i].value;

		check_text(fields->items[i].name);
		assert(content.data >= end);
		end = content.data + content.len;
		assert(end <= body.data + body.len);
		assert(bytes_find_bytes(content, bytes_str("--xx"), 0) < 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const types[] = {"application/x-www-form-urlencoded",
					    "multipart/form-data; boundary=xx",
					    "application/json"};
	struct inspect_source source = {.decoded_max = 1 << 20};
	const struct fields *fields;
	struct inspection *seen;
	struct err err;

	if (len == 0)
		return 0;
	source.type = bytes_str(types[data[0] % 3]);
	source.body = bytes_from(data + 1, len - 1);
	seen = inspection_new(&source, &err);
	if (!seen)
		return 0;
	fields = inspection_form(seen);
	if (fields)
		check_form(fields, source.body);
	fields = inspection_multipart(seen);
	if (fields)
		check_multipart(fields, source.body);
	(void)inspection_json(seen);
	inspection_free(seen);
	return 0;
}
