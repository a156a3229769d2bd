/*
 * GraphQL documents from anybody: one that is read runs within its bounds,
 * and its names are names.
 */
#include <assert.h>

#include "common/utf8.h"
#include "policies/inspect/graphql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_name(struct bytes name)
{
	assert(name.len > 0);
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		assert(c == '_' || (c >= 'A' && c <= 'Z') ||
		       (c >= 'a' && c <= 'z') || (i && c >= '0' && c <= '9'));
	}
}

static void check_run(const struct graphql_document *document)
{
	struct graphql_operation run;
	const char *fault = NULL;

	if (graphql_operation_read(document, bytes_str(""), NULL, &run,
				   &fault) < 0) {
		assert(fault);
		return;
	}
	assert(run.count <= GRAPHQL_FIELDS_MAX);
	for (size_t i = 0; i < run.count; i++) {
		check_name(run.fields[i].name);
		check_name(run.fields[i].alias);
		assert(json_is_object(run.fields[i].arguments));
	}
	graphql_operation_release(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *fault = NULL;
	struct graphql_document *document =
		graphql_parse(bytes_from(data, len), &fault);
	struct bytes string;
	size_t at = 0;

	assert((document != NULL) == (fault == NULL));
	if (!document)
		return 0;
	while (graphql_string(document, &at, &string))
		assert(utf8_valid_len(string) == string.len);
	check_run(document);
	graphql_free(document);
	return 0;
}
