/*
 * Regular expressions of a policy against values of a sandbox: the first
 * line is the expression, the rest is a query and a value. An answer comes
 * soon, is the same each time, and a value that matches is UTF-8.
 */
#include <assert.h>
#include <stdint.h>

#include "common/utf8.h"
#include "policies/pattern.h"
#include "policies/query.h"

#define ARENA_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(const struct pattern *pattern, struct bytes value)
{
	enum pattern_answer answer = pattern_ask(pattern, value);

	assert(pattern_ask(pattern, value) == answer);
	assert(answer != PATTERN_MATCHES || utf8_valid_len(value) == value.len);
}

static void ask_query(const struct pattern *pattern, struct arena *arena,
		      struct bytes query)
{
	struct fields fields;
	struct err err;

	if (query_parse(arena, query, &fields, &err)) {
		assert(err.text[0]);
		return;
	}
	assert(fields.count <= QUERY_PAIRS_MAX);
	for (size_t i = 0; i < fields.count && i < 4; i++) {
		assert(bytes_find(fields.items[i].value, 0, 0) < 0);
		ask(pattern, fields.items[i].value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes rest = bytes_from(data, len);
	struct pattern_fault fault = {0};
	const struct pattern *pattern;
	struct bytes text;
	struct arena arena;

	(void)bytes_split(&rest, '\n', &text);
	arena_init(&arena, ARENA_MAX);
	pattern = pattern_new(&arena, text, &fault);
	assert(pattern || fault.why[0]);
	assert(fault.at <= text.len);
	if (pattern) {
		ask(pattern, rest);
		ask_query(pattern, &arena, rest);
	}
	arena_release(&arena);
	return 0;
}
