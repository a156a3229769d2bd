#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/inspect/graphql.h"
#include "policies/inspect/json.h"

/* "type name: alias=field{arguments} ..." of what would run, or its fault. */
static void tell(struct buf *told, const char *text, const char *name,
		 const char *variables)
{
	json_t *given = variables ? json_read(bytes_str(variables)) : NULL;
	struct graphql_operation run = {0};
	struct graphql_document *document;
	const char *fault;

	document = graphql_parse(bytes_str(text), &fault);
	if (!document || graphql_operation_read(document, bytes_str(name),
						given, &run, &fault) < 0) {
		assert_non_null(fault);
		assert_int_equal(buf_add_str(told, fault), 0);
	} else {
		static const char types[] = "qms";

		assert_int_equal(buf_add_format(told,
						"%c%.*s:", types[run.type],
						BYTES_ARGS(run.name)),
				 0);
	}
	for (size_t i = 0; i < run.count; i++) {
		auto_free char *json =
			json_dumps(run.fields[i].arguments, JSON_COMPACT);

		assert_non_null(json);
		assert_int_equal(buf_add_format(told, " %.*s=%.*s%s",
						BYTES_ARGS(run.fields[i].alias),
						BYTES_ARGS(run.fields[i].name),
						json),
				 0);
	}
	graphql_operation_release(&run);
	graphql_free(document);
	json_decref(given);
}

struct row {
	const char *text;
	const char *name;
	const char *variables;
	const char *told;
};

static void expect(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct buf told;

		buf_init(&told, 65536);
		tell(&told, rows[i].text, rows[i].name, rows[i].variables);
		assert_string_equal(buf_str(&told), rows[i].told);
		buf_release(&told);
	}
}

static void graphql_tells_the_root_fields(void **state)
{
	static const struct row rows[] = {
		{"{a}", "", NULL, "q: a=a{}"},
		{"query{a b}", "", NULL, "q: a=a{} b=b{}"},
		{"mutation M { x: a(b: 1) { c } }", "", NULL,
		 "mM: x=a{\"b\":1}"},
		{"subscription { a }", "", NULL, "s: a=a{}"},
		{"\xef\xbb\xbf{a}", "", NULL, "GraphQL: an unknown character"},
		{"#c {b}\n,,{a,#x\r#y\r\n,b}", "", NULL, "q: a=a{} b=b{}"},
		/* Fragments, wherever they hide. */
		{"{...F} fragment F on Q {a ...G} fragment G on Q {b}", "",
		 NULL, "q: a=a{} b=b{}"},
		{"{... on Q {a} ... {b} ...@include(if:false){c}}", "", NULL,
		 "q: a=a{} b=b{} c=c{}"},
		{"{a @skip(if: true) x: b}", "", NULL, "q: a=a{} x=b{}"},
		{"{...F ...F a} fragment F on Q {a}", "", NULL,
		 "q: a=a{} a=a{}"},
		{"{a {...F}} fragment F on Q {b}", "", NULL, "q: a=a{}"},
		/* Which operation. */
		{"query A {a} mutation B {b}", "B", NULL, "mB: b=b{}"},
		{"query A {a} mutation B {b}", "", NULL,
		 "GraphQL: several operations and no operationName"},
		{"query A {a}", "B", NULL,
		 "GraphQL: no operation has the operationName"},
		{"{a}", "A", NULL,
		 "GraphQL: no operation has the operationName"},
		{"query A {a} query A {b}", "A", NULL, "GraphQL: a name twice"},
		{"query A {a} {b}", "A", NULL, "GraphQL: a name twice"},
		{"fragment F on Q {a}", "", NULL, "GraphQL: no operation"},
		{"", "", NULL, "GraphQL: no operation"},
	};

	(void)state;
	expect(rows, ARRAY_SIZE(rows));
}

static void graphql_substitutes_variables(void **state)
{
	static const struct row rows[] = {
		{"query($a: Int!) {f(x: $a)}", "", "{\"a\": 3}",
		 "q: f=f{\"x\":3}"},
		{"query($a: Int = 4 @d) {f(x: $a)}", "", NULL,
		 "q: f=f{\"x\":4}"},
		{"query($a: Int = 4) {f(x: $a)}", "", "{\"a\": null}",
		 "q: f=f{\"x\":null}"},
		{"query($a: [[I!]]! $b: I) {f(x: $a, y: {z: $b, l: [$b 1]})}",
		 "", NULL, "q: f=f{\"y\":{\"l\":[null,1]}}"},
		{"query($a: In = {n: [1.5e3 -2 ONE \"s\" true]}) {f(x: $a)}",
		 "", "{}",
		 "q: f=f{\"x\":{\"n\":[1500.0,-2,\"ONE\",\"s\",true]}}"},
		{"query($a: I) {...F} fragment F on Q {f(x: $a)}", "",
		 "{\"a\": {\"b\": 1}, \"c\": 2}", "q: f=f{\"x\":{\"b\":1}}"},
		{"{f(x: $a)}", "", "{\"a\": 3}",
		 "GraphQL: a variable is not defined"},
		{"query($a: I $a: I) {f}", "", NULL, "GraphQL: a name twice"},
		{"query($a: I = $b) {f}", "", NULL,
		 "GraphQL: a value is missing"},
		{"{f(x: 1 x: 2)}", "", NULL, "GraphQL: a name twice"},
		{"{f(x: {a: 1 a: 2})}", "", NULL, "GraphQL: a name twice"},
		{"{f(x: 99999999999999999999)}", "", NULL,
		 "GraphQL: a number is too large"},
	};

	(void)state;
	expect(rows, ARRAY_SIZE(rows));
}

static void graphql_reads_strings_as_servers_do(void **state)
{
	static const char none[] = "GraphQL: a string is none";
	static const struct row rows[] = {
		{"{f(x: \"\")}", "", NULL, "q: f=f{\"x\":\"\"}"},
		{"{f(x: \"a\\\"\\\\\\/\\n\\u0041#}\")}", "", NULL,
		 "q: f=f{\"x\":\"a\\\"\\\\/\\nA#}\"}"},
		{"{f(x: \"\\u00fc\\u20ac\\ud83d\\ude00\")}", "", NULL,
		 "q: f=f{\"x\":\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\"}"},
		{"{f(x: \"\"\"a \\\"\"\" \\n\"\"\")}", "", NULL,
		 "q: f=f{\"x\":\"a \\\"\\\"\\\" \\\\n\"}"},
		{"{f(x: \"\"\"\n\n    a\r\n      b\r\n\r\n    c\n  \"\"\")}",
		 "", NULL, "q: f=f{\"x\":\"a\\n  b\\n\\nc\"}"},
		{"{f(x: \"\"\"  a\n  b\n c\"\"\")}", "", NULL,
		 "q: f=f{\"x\":\"  a\\n b\\nc\"}"},
		{"{f(x: \"\"\"\"\"\")}", "", NULL, "q: f=f{\"x\":\"\"}"},
		{"{f(x: \"\"\" \n \"\"\")}", "", NULL, "q: f=f{\"x\":\"\"}"},
		{"{f(x: \"a\n\")}", "", NULL, none},
		{"{f(x: \"a", "", NULL, none},
		{"{f(x: \"\"\"a\"\")}", "", NULL, none},
		{"{f(x: \"\\x\")}", "", NULL, none},
		{"{f(x: \"\\u12\")}", "", NULL, none},
		{"{f(x: \"\\u{41}\")}", "", NULL, none},
		{"{f(x: \"\\u0000\")}", "", NULL, none},
		{"{f(x: \"\\ud83d\")}", "", NULL, none},
		{"{f(x: \"\\ude00\\ud83d\")}", "", NULL, none},
		{"{f(x: \"\\\")}", "", NULL, none},
	};

	(void)state;
	expect(rows, ARRAY_SIZE(rows));
}

static void graphql_refuses_what_is_not_in_the_specification(void **state)
{
	static const char *const rows[] = {
		"{",
		"{}",
		"{a}}",
		"{a{}}",
		"{a()}",
		"query() {a}",
		"{a:}",
		"{a: b: c}",
		"{..F} fragment F on Q {a}",
		"{. . .F} fragment F on Q {a}",
		"{...on}",
		"{...F}",
		"{a ...on Q}",
		"{...F} fragment F on Q {...F}",
		"{a} fragment F on Q {b {...G}} fragment G on Q {...F}",
		"{a} fragment on on Q {a}",
		"{a} fragment F($x: I) on Q {a}",
		"{a} fragment F on Q {a} fragment F on Q {b}",
		"type Q {a: Int}",
		"schema {query: Q}",
		"extend type Q {a: Int}",
		"\"a description\" query A {a}",
		"Query {a}",
		"{a(x: 01)}",
		"{a(x: 1.)}",
		"{a(x: .5)}",
		"{a(x: 1e)}",
		"{a(x: 1a)}",
		"{a(x: 1.5.2)}",
		"{a(x: +1)}",
		"{a(x: -)}",
		"{a(x: [1)}",
		"{a(x: {y 1})}",
		"{a(x: )}",
		"{a(: 1)}",
		"query($a) {a}",
		"query($a: [I) {a}",
		"query($a: I!!) {a}",
		"query($a: [I]]) {a}",
		"{a @}",
		"{a ? b}",
		"{a%}",
		"{a\x01}",
		"{a # \x7f\n}",
		"{a # \xff\n}",
		"query A query B {a}",
		"{a} x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *fault = NULL;

		assert_null(graphql_parse(bytes_str(rows[i]), &fault));
		assert_non_null(fault);
	}
}

/* head, `count` times middle, foot. */
static bool parses(const char *const parts[3], size_t count)
{
	struct graphql_document *document;
	const char *fault;
	struct buf text;

	buf_init(&text, 2 * GRAPHQL_TEXT_MAX);
	assert_int_equal(buf_add_str(&text, parts[0]), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_add_str(&text, parts[1]), 0);
	assert_int_equal(buf_add_str(&text, parts[2]), 0);
	for (size_t i = 0; parts[1][0] == '{' && i < count; i++)
		assert_int_equal(buf_add_str(&text, "}"), 0);
	document = graphql_parse(buf_view(&text), &fault);
	graphql_free(document);
	buf_release(&text);
	return document != NULL;
}

static void graphql_stops_at_its_bounds(void **state)
{
	static const char *const deep[] = {"", "{a", ""};
	static const char *const lists[] = {"{a(x:", "[[", "1"};
	static const char *const tokens[] = {"{", "a ", "}"};
	static const char *const bytes[] = {"{a #", "x", "\n}"};

	(void)state;
	assert_true(parses(deep, GRAPHQL_DEPTH_MAX));
	assert_false(parses(deep, GRAPHQL_DEPTH_MAX + 1));
	assert_false(parses(lists, 100000));
	assert_true(parses(tokens, GRAPHQL_TOKENS_MAX - 2));
	assert_false(parses(tokens, GRAPHQL_TOKENS_MAX - 1));
	assert_true(parses(bytes, GRAPHQL_TEXT_MAX - 6));
	assert_false(parses(bytes, GRAPHQL_TEXT_MAX - 5));
}

/* F0 spreads F1 spreads F2 ..., each twice and one field deeper. */
static bool chain_parses(size_t count)
{
	struct graphql_document *document;
	struct graphql_operation run;
	const char *fault;
	struct buf text;

	buf_init(&text, 1 << 20);
	assert_int_equal(buf_add_str(&text, "{...F0}"), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_add_format(&text,
						"fragment F%zu on Q "
						"{a{...F%zu ...F%zu}}",
						i, i + 1, i + 1),
				 0);
	assert_int_equal(buf_add_format(&text, "fragment F%zu on Q {a}", count),
			 0);
	document = graphql_parse(buf_view(&text), &fault);
	if (document) {
		assert_int_equal(graphql_operation_read(document, bytes_str(""),
							NULL, &run, &fault),
				 0);
		assert_int_equal(run.count, 1);
		graphql_operation_release(&run);
	}
	graphql_free(document);
	buf_release(&text);
	return document != NULL;
}

static void graphql_follows_fragments_to_its_bounds(void **state)
{
	(void)state;
	/* 2 for each link, the operation and the last. */
	assert_true(chain_parses((GRAPHQL_EXPANDED_MAX - 2) / 2));
	assert_false(chain_parses((GRAPHQL_EXPANDED_MAX - 2) / 2 + 1));
	assert_false(chain_parses(GRAPHQL_FRAGMENTS_MAX));
}

static void graphql_shows_every_string(void **state)
{
	const char *fault;
	struct graphql_document *document = graphql_parse(
		bytes_str(
			"query($a: S = \"\\u0061\") {f {g(x: \"\"\"b\"\"\")}}"),
		&fault);
	struct bytes string;
	size_t at = 0;
	unsigned seen = 0;

	(void)state;
	assert_non_null(document);
	while (graphql_string(document, &at, &string)) {
		assert_int_equal(string.len, 1);
		seen |= string.data[0] == 'a' ? 1 : 2;
	}
	assert_int_equal(at, 2);
	assert_int_equal(seen, 3);
	graphql_free(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphql_tells_the_root_fields),
		cmocka_unit_test(graphql_substitutes_variables),
		cmocka_unit_test(graphql_reads_strings_as_servers_do),
		cmocka_unit_test(
			graphql_refuses_what_is_not_in_the_specification),
		cmocka_unit_test(graphql_stops_at_its_bounds),
		cmocka_unit_test(graphql_follows_fragments_to_its_bounds),
		cmocka_unit_test(graphql_shows_every_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
