/*
 * What is asked of GitHub about the ids in a mutation, and what its answer
 * is worth.
 */
#include <jansson.h>

#include "policies/inspect/inspection.h"
#include "policies/nodes.h"
#include "policy_of.h"

#define POLICY                                                                 \
	"version: 1\nnetwork:\n  rules:\n"                                     \
	"  - name: r\n    hosts: [a.example]\n    action: allow\n"             \
	"    body:\n      graphql:\n        operations: [mutation]\n"          \
	"        fields: [addComment, closePullRequest, other]\n"              \
	"        nodes:\n"                                                     \
	"          addComment.input.subjectId: {repository: acme/widgets}\n"   \
	"          closePullRequest.input.pullRequestId: {repository: "        \
	"acme/widgets, head: '${session.branch}'}\n"

static struct inspection *inspect(const char *query, const char *variables)
{
	static char text[64 * 1024];
	json_t *root = json_pack("{s:s,s:o}", "query", query, "variables",
				 json_loads(variables, 0, NULL));
	struct inspect_source source = {
		.type = bytes_str("application/json"),
		.decoded_max = sizeof(text),
	};
	struct inspection *seen;
	struct err err;
	size_t len = json_dumpb(root, text, sizeof(text), 0);

	assert_true(len > 0 && len <= sizeof(text));
	json_decref(root);
	source.body = bytes_from(text, len);
	seen = inspection_new(&source, &err);
	assert_non_null(seen);
	return seen;
}

static struct verdict decide(const struct policy *policy,
			     struct inspection *seen)
{
	struct request_facts facts = request_of((struct request_line){
		"POST", "https", "a.example", "/graphql", ""});

	facts.body = seen;
	facts.has_body = true;
	facts.body_bytes = 1;
	return decide_request(policy, &facts, NULL);
}

#define ADD(id)	  "addComment(input: {subjectId: " id "}) { id }"
#define CLOSE(id) "closePullRequest(input: {pullRequestId: " id "}) { id }"

static void ids_are_found_wherever_they_stand(void **state)
{
	static const struct {
		const char *query, *variables, *ids[4];
	} rows[] = {
		{"mutation { " ADD("\"I_1\"") " }", "{}", {"I_1"}},
		{"mutation M($i: I!) { addComment(input: $i) { "
		 "id } }",
		 "{\"i\":{\"subjectId\":\"MDU6SXNzdWUx=\"}}",
		 {"MDU6SXNzdWUx="}},
		{"mutation M($i: ID = \"PR_2\") { x: " CLOSE("$i") " }",
		 "{}",
		 {"PR_2"}},
		{"mutation { ...F } fragment F on Mutation { "
		 "a: " ADD("\"I_1\"") " b: " CLOSE("\"PR_2\"") " c: " ADD(
			 "\"I_"
			 "3\"") " }",
		 "{}",
		 {"I_1", "PR_2", "I_3"}},
		/* another field's arguments are nobody's */
		{"mutation { other(input: {subjectId: 7}) { id "
		 "} }",
		 "{}",
		 {0}},
	};
	struct policy *policy = policy_of(POLICY);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inspection *seen =
			inspect(rows[i].query, rows[i].variables);
		struct verdict verdict = decide(policy, seen);
		struct node_questions questions;
		struct arena arena;
		size_t count = 0;

		print_message("%s\n", rows[i].query);
		assert_int_equal(verdict.kind, VERDICT_ALLOW);
		arena_init(&arena, 64 * 1024);
		assert_int_equal(
			nodes_collect(verdict.by, seen, &arena, &questions), 0);
		inspection_free(seen);
		for (; rows[i].ids[count]; count++)
			assert_true(bytes_is(questions.items[count].id,
					     rows[i].ids[count]));
		assert_int_equal(questions.count, count);
		arena_release(&arena);
	}
	policy_free(policy);
}

static void what_is_no_id_is_refused(void **state)
{
	static const char *const queries[] = {
		"mutation { addComment(input: {}) { id } }",
		"mutation { addComment { id } }",
		"mutation { " ADD("null") " }",
		"mutation { " ADD("7") " }",
		"mutation { " ADD("\"\"") " }",
		"mutation { " ADD("[]") " }",
		"mutation { " ADD("{id: \"I_1\"}") " }",
		"mutation { " ADD("\"I_1\\\"}\"") " }",
		"mutation { " ADD("\"I 1\"") " }",
		"mutation { " ADD("[\"I_1\", null]") " }",
		"mutation { a: " ADD("\"I_1\"") " b: addComment(input: {}) { "
						"id } }",
	};
	struct policy *policy = policy_of(POLICY);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct inspection *seen = inspect(queries[i], "{}");
		struct verdict verdict = decide(policy, seen);

		print_message("%s\n", queries[i]);
		assert_int_equal(verdict.kind, VERDICT_DENY);
		assert_int_equal(verdict.constraint,
				 CONSTRAINT_graphql_not_allowed);
		assert_true(
			bytes_is(verdict.reason, "addComment.input.subjectId"));
		inspection_free(seen);
	}
	policy_free(policy);
}

static void more_ids_than_can_be_asked_about_are_refused(void **state)
{
	struct policy *policy = policy_of(POLICY);

	(void)state;
	for (size_t count = NODES_MAX; count <= NODES_MAX + 1; count++) {
		struct node_questions questions;
		struct buf query;
		struct arena arena;
		struct inspection *seen;

		arena_init(&arena, 64 * 1024);
		buf_init(&query, 8192);
		assert_int_equal(buf_add_str(&query, "mutation {"), 0);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(buf_add_format(&query,
							" a%zu: " ADD("\"I\""),
							i),
					 0);
		assert_int_equal(buf_add_str(&query, "}"), 0);
		seen = inspect(buf_str(&query), "{}");
		assert_int_equal(nodes_collect(decide(policy, seen).by, seen,
					       &arena, &questions),
				 count > NODES_MAX ? -1 : 0);
		inspection_free(seen);
		buf_release(&query);
		arena_release(&arena);
	}
	policy_free(policy);
}

static const struct policy_node inside = {
	.repository = BYTES_LITERAL("acme/widgets"),
};
static const struct policy_node own = {
	.repository = BYTES_LITERAL("acme/widgets"),
	.head = BYTES_LITERAL("agent/42"),
};

static void the_query_asks_about_each_id_by_a_variable(void **state)
{
	struct node_questions questions = {
		.items = {{bytes_str("I_1"), &inside},
			  {bytes_str("PR_2="), &own}},
		.count = 2,
	};
	struct buf out;
	json_t *root;
	const char *text;

	(void)state;
	buf_init(&out, NODES_QUERY_MAX);
	assert_int_equal(nodes_write(&questions, &out), 0);
	root = json_loads(buf_str(&out), JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	text = json_string_value(json_object_get(root, "query"));
	assert_non_null(strstr(text, "query($i0:ID!$i1:ID!){n0:node(id:$i0){"
				     "...f}n1:node(id:$i1){...f}}fragment f"));
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(root, "variables"), "i1")),
			    "PR_2=");
	json_decref(root);
	buf_release(&out);
	questions.count = NODES_MAX;
	for (size_t i = 0; i < NODES_MAX; i++)
		questions.items[i] =
			(struct node_question){bytes_from("aaaaaaaaaaaaaaaa"
							  "aaaaaaaaaaaaaaaa",
							  32),
					       &own};
	buf_init(&out, NODES_QUERY_MAX);
	assert_int_equal(nodes_write(&questions, &out), 0);
	buf_release(&out);
}

#define NODE(text) "{\"data\":{\"n0\":" text "}}"
#define IN(name)   "\"repository\":{\"nameWithOwner\":\"" name "\"}"
#define HEAD(branch, name)                                                     \
	"\"headRefName\":\"" branch "\",\"headRepository\":{"                  \
	"\"nameWithOwner\":\"" name "\"}"
#define PULL(in, head) NODE("{\"__typename\":\"PullRequest\"," in "," head "}")
#define ISSUE(in)      NODE("{\"__typename\":\"Issue\"," in "}")

static const struct answer {
	const struct policy_node *asked;
	const char *reply;
	bool holds;
	const char *why;
} answers[] = {
	{&inside, ISSUE(IN("acme/widgets")), true, ""},
	{&inside, ISSUE(IN("Acme/Widgets")), true, ""},
	{&inside, ISSUE(IN("acme/other")), false, "I_1 is not of acme/widgets"},
	{&inside, PULL(IN("acme/widgets"), HEAD("x", "evil/fork")), true, ""},
	{&inside,
	 NODE("{\"__typename\":\"Repository\",\"nameWithOwner\":"
	      "\"acme/widgets\"}"),
	 true, ""},
	{&inside,
	 NODE("{\"__typename\":\"Repository\",\"nameWithOwner\":"
	      "\"acme/other\"," IN("acme/widgets") "}"),
	 false, "I_1 is not of acme/widgets"},
	/* what is no repository has no name of its own */
	{&inside,
	 NODE("{\"__typename\":\"Gist\",\"nameWithOwner\":\"acme/"
	      "widgets\"}"),
	 false, "I_1 is not of acme/widgets"},
	{&own,
	 PULL(IN("acme/widgets"), HEAD("agent/42", "acme/"
						   "widgets")),
	 true, ""},
	{&own, PULL(IN("acme/widgets"), HEAD("main", "acme/widgets")), false,
	 "I_1 is not a pull request from the branch agent/42"},
	{&own,
	 PULL(IN("acme/widgets"), HEAD("Agent/42", "acme/"
						   "widgets")),
	 false, "I_1 is not a pull request from"},
	{&own,
	 PULL(IN("acme/widgets"), HEAD("agent/42", "evil/"
						   "widgets")),
	 false, "I_1 is not a pull request from"},
	{&own, PULL(IN("acme/other"), HEAD("agent/42", "acme/widgets")), false,
	 "I_1 is not of acme/widgets"},
	/* the fork was deleted */
	{&own,
	 NODE("{\"__typename\":\"PullRequest\"," IN(
		 "acme/widgets") ",\"headRefName\":\"agent/42\","
				 "\"headRepository\":null}"),
	 false, "I_1 is not a pull request from"},
	{&own, ISSUE(IN("acme/widgets") "," HEAD("agent/42", "acme/widgets")),
	 false, "I_1 is not a pull request from"},
	{&own,
	 "{\"data\":{\"n0\":null},\"errors\":[{\"type\":\"NOT_FOUND\"}]"
	 "}",
	 false, "nothing that this session may know of has the id I_1"},
	{&own, "{\"data\":null}", false, "nothing that"},
	{&own, "{\"message\":\"Bad credentials\"}", false, "nothing that"},
	{&inside, "", false, "nothing that"},
	{&inside, "[1]", false, "nothing that"},
	{&inside, ISSUE(IN("acme/widgets")) "x", false, "nothing that"},
	/* which of the two would be believed? */
	{&inside,
	 "{\"data\":{\"n0\":{\"__typename\":\"Issue\"," IN(
		 "acme/widgets") "},\"n0\":null}}",
	 false, "nothing that"},
};

static void an_answer_holds_when_it_says_all_that_is_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		const struct node_questions questions = {
			.items = {{bytes_str("I_1"), answers[i].asked}},
			.count = 1,
		};
		struct buf why;

		print_message("%s\n", answers[i].reply);
		buf_init(&why, NODES_WHY_MAX);
		assert_int_equal(nodes_hold(&questions,
					    bytes_str(answers[i].reply), &why),
				 answers[i].holds);
		assert_true(bytes_starts_with(buf_view(&why),
					      bytes_str(answers[i].why)));
		assert_int_equal(buf_len(&why) == 0, answers[i].holds);
		buf_release(&why);
	}
}

static void every_id_must_hold(void **state)
{
	static const char reply[] =
		"{\"data\":{\"n0\":{\"__typename\":\"Issue\"," IN(
			"acme/widgets") "},\"n1\":{\"__typename\":"
					"\"Issue\"," IN("acme/other") "}}}";
	struct node_questions questions = {
		.items = {{bytes_str("I_1"), &inside},
			  {bytes_str("I_2"), &inside}},
		.count = 2,
	};
	struct buf why;

	(void)state;
	buf_init(&why, NODES_WHY_MAX);
	assert_false(nodes_hold(&questions, bytes_str(reply), &why));
	assert_string_equal(buf_str(&why), "I_2 is not of acme/widgets");
	questions.count = 1;
	assert_true(nodes_hold(&questions, bytes_str(reply), &why));
	buf_release(&why);
}

#define WITHOUT                                                                \
	"version: 1\nnetwork:\n  rules:\n  - {hosts: [a.example], action: "    \
	"allow, body: {graphql: {fields: [x, y], absent: [x.input.labels, "    \
	"x.input.deep.er]}}}\n"

static void what_must_be_absent_is_not_given(void **state)
{
	static const struct {
		const char *query, *variables;
		bool passes;
	} rows[] = {
		{"mutation { x(input: {id: 1}) { id } }", "{}", true},
		{"mutation { x(input: {labels: null}) { id } }", "{}", true},
		{"mutation { y(input: {labels: [1]}) { id } }", "{}", true},
		{"mutation { x(input: {labels: [1]}) { id } }", "{}", false},
		{"mutation { x(input: {labels: []}) { id } }", "{}", false},
		{"mutation { x(input: {deep: {er: 1}}) { id } }", "{}", false},
		{"mutation { x(input: {deep: [{}, {er: 1}]}) { id } }", "{}",
		 false},
		{"mutation M($i: I) { x(input: $i) { id } }",
		 "{\"i\":{\"labels\":[1]}}", false},
		{"mutation M($i: I) { a: x(input: {}) { id } b: x(input: $i) { "
		 "id } }",
		 "{\"i\":{\"labels\":[1]}}", false},
	};
	struct policy *policy = policy_of(WITHOUT);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inspection *seen =
			inspect(rows[i].query, rows[i].variables);
		struct verdict verdict = decide(policy, seen);

		print_message("%s\n", rows[i].query);
		assert_int_equal(verdict.kind,
				 rows[i].passes ? VERDICT_ALLOW : VERDICT_DENY);
		inspection_free(seen);
	}
	policy_free(policy);
}

#define RULE(action, nodes)                                                    \
	"version: 1\nnetwork:\n  rules:\n  - {hosts: [a.example], "            \
	"action: " action                                                      \
	", body: {graphql: {operations: [mutation], nodes: " nodes "}}}\n"

static void nodes_are_checked_where_they_are_written(void **state)
{
	static const struct {
		const char *text, *told;
	} rows[] = {
		{RULE("allow", "{a.b: {repository: o/n}}"), NULL},
		{RULE("allow", "{a.b: {repository: o/n, head: x}}"), NULL},
		{RULE("deny", "{a.b: {repository: o/n}}"),
		 "only a session's rule that allows has graphql.nodes"},
		{RULE("ask", "{a.b: {repository: o/n}}"),
		 "only a session's rule that allows has graphql.nodes"},
		{RULE("allow", "{}"), "this must have 1 to 100 names"},
		{RULE("allow", "{a: {repository: o/n}}"),
		 "\"a\" is not like field.argument"},
		{RULE("allow", "{a.b: {head: x}}"), "\"repository\""},
		{RULE("allow", "{a.b: {repository: o}}"),
		 "a repository is named as OWNER/NAME here"},
		{RULE("allow", "{a.b: {repository: o/n/m}}"),
		 "a repository is named as OWNER/NAME here"},
		{RULE("allow", "{a.b: {repository: /n}}"),
		 "a repository is named as OWNER/NAME here"},
		{RULE("allow", "{a.b: {repository: o/n}}, absent: [a.b]"),
		 NULL},
		{RULE("allow", "{a.b: {repository: o/n}}, absent: [a]"),
		 "\"a\" is not like field.argument"},
		{RULE("allow", "{a.b: {repository: o/n}}, absent: []"),
		 "an empty list"},
		{RULE("allow", "{a.b: {repository: o/n, brach: x}}"),
		 "\"brach\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		size_t count;
		struct policy *policy = policy_try(rows[i].text, &told, &count);
		struct bytes text = buf_view(&told);

		print_message("%s%.*s", rows[i].text, BYTES_ARGS(text));
		assert_int_equal(count, rows[i].told ? 1 : 0);
		if (rows[i].told)
			assert_true(bytes_find_bytes(text,
						     bytes_str(rows[i].told),
						     0) >= 0);
		policy_free(policy);
		buf_release(&told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_found_wherever_they_stand),
		cmocka_unit_test(what_is_no_id_is_refused),
		cmocka_unit_test(more_ids_than_can_be_asked_about_are_refused),
		cmocka_unit_test(the_query_asks_about_each_id_by_a_variable),
		cmocka_unit_test(
			an_answer_holds_when_it_says_all_that_is_asked),
		cmocka_unit_test(every_id_must_hold),
		cmocka_unit_test(what_must_be_absent_is_not_given),
		cmocka_unit_test(nodes_are_checked_where_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
