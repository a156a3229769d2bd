#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/inspect/graphql.h"
#include "policies/inspect/inspection.h"

#define JSON "application/json"

/* Requests that are seen; 0: it is refused. */
static const struct row {
	const char *type;
	const char *query;
	const char *body;
	size_t count;
} rows[] = {
	{JSON, "", "{\"query\": \"{a}\"}", 1},
	{JSON, "x=1", "{\"query\": \"{a}\"}", 1},
	{JSON, "",
	 "{\"query\": \"query A {a}\", \"operationName\": \"A\","
	 " \"variables\": {}, \"extensions\": {}}",
	 1},
	{JSON, "",
	 "{\"query\": \"{a}\", \"operationName\": null, \"variables\": null,"
	 " \"extensions\": {\"clientLibrary\": {\"name\": \"x\"}}}",
	 1},
	{JSON, "", "[{\"query\": \"{a}\"}, {\"query\": \"mutation {b}\"}]", 2},
	{"application/graphql", "", "{a}", 1},
	{"", "query=%7Ba%7D&variables={}&operationName=&z=1", "", 1},
	{JSON, "", "[]", 0},
	{JSON, "", "[{\"query\": \"{a}\"}, {\"query\": \"{\"}]", 0},
	{JSON, "", "[[{\"query\": \"{a}\"}]]", 0},
	{JSON, "", "{}", 0},
	{JSON, "", "3", 0},
	{JSON, "", "{\"query\": 3}", 0},
	{JSON, "", "{\"query\": \"{a}\", \"variables\": \"{}\"}", 0},
	{JSON, "", "{\"query\": \"{a}\", \"operationName\": 3}", 0},
	{JSON, "", "{\"query\": \"{a}\", \"documentId\": \"x\"}", 0},
	{JSON, "", "{\"query\": \"{a}\", \"id\": \"x\"}", 0},
	{JSON, "", "{\"query\": \"{a}\", \"Query\": \"{b}\"}", 0},
	{JSON, "",
	 "{\"query\": \"{a}\", \"extensions\": {\"persistedQuery\": "
	 "{\"version\": 1, \"sha256Hash\": \"00\"}}}",
	 0},
	{JSON, "", "{\"extensions\": {\"persistedQuery\": {}}}", 0},
	{JSON, "", "{\"query\": \"{a}\", \"query\": \"{b}\"}", 0},
	{"text/plain", "", "{\"query\": \"{a}\"}", 0},
	{"application/graphql", "", "{\"query\": \"{a}\"}", 0},
	{"application/graphql; charset=utf-7", "", "{a}", 0},
	/* Some servers prefer the URL, some the body. */
	{JSON, "query=%7Bb%7D", "{\"query\": \"{a}\"}", 0},
	{JSON, "operationName=A", "{\"query\": \"{a}\"}", 0},
	{JSON, "Query=%7Bb%7D", "{\"query\": \"{a}\"}", 0},
	{JSON, "+query=%7Bb%7D", "{\"query\": \"{a}\"}", 0},
	{JSON, "query[]=%7Bb%7D", "{\"query\": \"{a}\"}", 0},
	{JSON, "documentId=1", "{\"query\": \"{a}\"}", 0},
	{JSON, "queryId=1", "{\"query\": \"{a}\"}", 0},
	{JSON, "_json%5B%5D%5Bquery%5D=%7Bb%7D", "{\"query\": \"{a}\"}", 0},
	{JSON, "a_json=1", "{\"query\": \"{a}\"}", 1},
	{JSON, "querying=1", "{\"query\": \"{a}\"}", 1},
	{JSON, "a=%zz", "{\"query\": \"{a}\"}", 0},
	{"", "query=%7Ba%7D&query=%7Bb%7D", "", 0},
	{"", "query=%7Ba%7D&variables=3", "", 0},
	{"", "query=%7Ba%7D&extensions=%7B%22persistedQuery%22:1%7D", "", 0},
	{"", "extensions=%7B%22persistedQuery%22:1%7D", "", 0},
	{"", "a=b", "", 0},
	{"", "", "", 0},
};

static void graphql_is_found_where_servers_look(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inspect_source source = {
			.type = bytes_str(rows[i].type),
			.query = bytes_str(rows[i].query),
			.body = bytes_str(rows[i].body),
			.decoded_max = 65536};
		struct err err = {0};
		struct inspection *seen = inspection_new(&source, &err);
		size_t count;

		assert_non_null(seen);
		assert_int_equal(inspection_graphql(seen, &count) != NULL,
				 rows[i].count > 0);
		if (rows[i].count)
			assert_int_equal(count, rows[i].count);
		assert_int_equal(*inspection_fault(seen) == '\0',
				 rows[i].count > 0);
		inspection_free(seen);
	}
}

static void graphql_gives_the_name_and_the_variables(void **state)
{
	struct inspect_source source = {
		.query = bytes_str("query=query+A%28%24x%3AI%29%7Bf%28y%3A%24x"
				   "%29%7D&operationName=A&variables=%7B%22x"
				   "%22%3A7%7D"),
		.decoded_max = 65536};
	const struct inspected_graphql *asked;
	struct graphql_operation run;
	struct inspection *seen;
	struct err err;
	const char *fault;
	size_t count;

	(void)state;
	seen = inspection_new(&source, &err);
	asked = inspection_graphql(seen, &count);
	assert_non_null(asked);
	assert_true(bytes_is(asked->operation, "A"));
	assert_int_equal(graphql_operation_read(asked->document,
						asked->operation,
						asked->variables, &run, &fault),
			 0);
	assert_int_equal(run.count, 1);
	assert_int_equal(json_integer_value(
				 json_object_get(run.fields[0].arguments, "y")),
			 7);
	graphql_operation_release(&run);
	inspection_free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphql_is_found_where_servers_look),
		cmocka_unit_test(graphql_gives_the_name_and_the_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
