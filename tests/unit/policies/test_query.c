#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/query.h"

/* The pairs as "name=value;", or "refused". */
static void parse(const char *query, struct buf *out)
{
	auto_type(arena_release) struct arena arena;
	struct fields fields;
	struct err err;

	arena_init(&arena, 256 * 1024);
	buf_init(out, 64 * 1024);
	if (query_parse(&arena, bytes_str(query), &fields, &err)) {
		assert_int_equal(err.code, ERR_INVALID);
		(void)buf_add_str(out, "refused");
		return;
	}
	for (size_t i = 0; i < fields.count; i++)
		(void)buf_add_format(out, "%.*s=%.*s;",
				     BYTES_ARGS(fields.items[i].name),
				     BYTES_ARGS(fields.items[i].value));
}

static void query_parse_reads_as_servers_do_or_refuses(void **state)
{
	static const struct {
		const char *query, *pairs;
	} rows[] = {
		{"", ""},
		{"a=1", "a=1;"},
		{"a=1&b=2&a=3", "a=1;b=2;a=3;"},
		{"a", "a=;"},
		{"a=", "a=;"},
		{"=a", "=a;"},
		{"a=b=c", "a=b=c;"},
		{"&&a=1&", "a=1;"},
		{"a=one+two%20three", "a=one two three;"},
		{"%61=%41%2b%26%3D", "a=A+&=;"},
		{"a=%C3%a9", "a=\xc3\xa9;"},
		{"a=%25%34%31", "a=%41;"},
		{"a=%", "refused"},
		{"a=%4", "refused"},
		{"a=%zz", "refused"},
		{"%g1=a", "refused"},
		{"a=%00", "refused"},
		{"a=1;b=2", "refused"},
		{"a=%3b", "a=;;"},
		{"a=1#b", "refused"},
		{"a=\x7f", "refused"},
		{"a=\xc3\xa9", "refused"},
		{"a= b", "refused"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf out;

		print_message("%s\n", rows[i].query);
		parse(rows[i].query, &out);
		assert_true(bytes_is(buf_view(&out), rows[i].pairs));
	}
}

static void query_parse_bounds_the_pairs(void **state)
{
	char query[2 * (QUERY_PAIRS_MAX + 1) + 1] = "";
	auto_type(buf_release) struct buf out;
	auto_type(buf_release) struct buf more;

	(void)state;
	for (size_t i = 0; i < QUERY_PAIRS_MAX; i++)
		memcpy(query + 2 * i, "a&", 3);
	parse(query, &out);
	assert_int_equal(buf_len(&out), 3 * QUERY_PAIRS_MAX);
	memcpy(query + 2 * QUERY_PAIRS_MAX, "a&", 3);
	parse(query, &more);
	assert_true(bytes_is(buf_view(&more), "refused"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(query_parse_reads_as_servers_do_or_refuses),
		cmocka_unit_test(query_parse_bounds_the_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
