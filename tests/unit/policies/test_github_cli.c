/*
 * The preset github-cli: every door of tests/e2e/github_doors.txt is shut, by
 * the rule that says why, and a rule that names it opens it. What gh needs
 * passes.
 */
#include <jansson.h>

#include "policies/inspect/inspection.h"
#include "policy_of.h"

#define DOORS	    SP_SOURCE_DIR "/tests/e2e/github_doors.txt"
#define TEXT_MAX    (64 * 1024)
#define DOORS_LEAST 150

#define POLICY(rules)                                                          \
	"version: 1\nextends: [github-cli]\n"                                  \
	"credentials:\n  - {name: github, secret: s, attach: github, "         \
	"hosts: ['*.github.com', github.com, gist.githubusercontent.com, "     \
	"ghcr.io]}\n"                                                          \
	"git:\n  - {repo: 'https://github.com/acme/widgets', credential: "     \
	"github, read: true}\n"                                                \
	"network:\n  rules:\n" rules
#define NONE "  - {name: none, hosts: [unused.example], action: allow}\n"

#define WORD_MAX 512

/* One request; the body is text that is this one's to free. */
struct door {
	char rule[WORD_MAX], method[WORD_MAX], host[WORD_MAX], path[WORD_MAX];
	char mutation[WORD_MAX]; /* empty: none */
	char *body;
};

static char *graphql(const char *name, const char *input)
{
	json_t *variables = json_loads(input, 0, NULL);
	json_t *query = json_sprintf(
		"mutation M($input: Any!) { %s(input: $input) { id } }", name);
	char *text;
	json_t *root;

	assert_non_null(variables);
	root = json_pack("{s:o,s:{s:o}}", "query", query, "variables", "input",
			 variables);
	text = json_dumps(root, 0);
	json_decref(root);
	return text;
}

/* "host/path" with the repository for '@'. */
static void read_url(const char *what, struct door *door)
{
	const char *slash = strchr(what, '/');
	const char *at = strchr(what, '@');

	assert_non_null(slash);
	(void)snprintf(door->host, WORD_MAX, "%.*s", (int)(slash - what), what);
	if (at)
		(void)snprintf(door->path, WORD_MAX, "%.*sacme/widgets%s",
			       (int)(at - slash), slash, at + 1);
	else
		(void)snprintf(door->path, WORD_MAX, "%s", slash);
}

/* False: the line is none. */
static bool read_door(const char *line, struct door *door)
{
	char what[WORD_MAX];
	int at = 0;

	*door = (struct door){.body = NULL};
	if (line[0] == '#' || sscanf(line, "%511s | %511s %511s |%n",
				     door->rule, door->method, what, &at) != 3)
		return false;
	assert_true(at > 0);
	line += at + strspn(line + at, " ");
	if (strcmp(door->method, "mutation") == 0) {
		(void)snprintf(door->mutation, WORD_MAX, "%s", what);
		(void)snprintf(door->method, WORD_MAX, "POST");
		read_url("api.github.com/graphql", door);
		door->body = graphql(what, line);
	} else {
		read_url(what, door);
		door->body = strdup(line);
	}
	return true;
}

static struct verdict ask(const struct policy *policy, const char *method,
			  const char *host, const char *path, const char *body)
{
	const struct inspect_source source = {
		.type = bytes_str("application/json"),
		.body = bytes_str(body),
		.decoded_max = 1024 * 1024,
	};
	struct request_facts facts = request_of(
		(struct request_line){method, "https", host, path, ""});
	struct verdict verdict = decide_request(policy, &facts, NULL);
	struct err err;

	if (verdict.kind != VERDICT_LOOK)
		return verdict;
	facts.body = inspection_new(&source, &err);
	assert_non_null(facts.body);
	facts.body_bytes = strlen(body);
	facts.has_body = facts.body_bytes > 0;
	verdict = decide_request(policy, &facts, NULL);
	inspection_free(facts.body);
	return verdict;
}

static struct verdict ask_door(const struct policy *policy,
			       const struct door *door)
{
	return ask(policy, door->method, door->host, door->path, door->body);
}

/* The same door with a rule of the policy's own for exactly it. */
static void open_door(const struct door *door, char *text, size_t size)
{
	char body[2 * WORD_MAX] = "";

	if (door->mutation[0])
		(void)snprintf(body, sizeof(body),
			       "body: {graphql: {operations: [mutation], "
			       "fields: [%s]}}, ",
			       door->mutation);
	(void)snprintf(text, size,
		       POLICY("  - {name: open, hosts: [%s], methods: [%s], "
			      "paths: ['%s'], %scredential: github, action: "
			      "allow}\n"),
		       door->host, door->method, door->path, body);
}

static void check_door(const struct policy *policy, const struct door *door)
{
	char text[4096];
	struct policy *open;
	struct verdict verdict = ask_door(policy, door);
	const struct bytes preset = BYTES_LITERAL("github-cli/");

	print_message("%s %s%s %s\n", door->method, door->host, door->path,
		      door->body);
	assert_int_equal(verdict.kind, VERDICT_DENY);
	assert_int_equal(verdict.constraint, CONSTRAINT_denied_by_rule);
	assert_true(bytes_starts_with(verdict.rule, preset));
	assert_true(bytes_is(
		bytes_slice(verdict.rule, preset.len, verdict.rule.len),
		door->rule));
	assert_true(verdict.reason.len > 20);
	open_door(door, text, sizeof(text));
	open = policy_of(text);
	verdict = ask_door(open, door);
	assert_int_equal(verdict.kind, VERDICT_ALLOW);
	assert_true(bytes_is(verdict.rule, "open"));
	assert_true(bytes_is(verdict.credential, "github"));
	policy_free(open);
}

static void every_side_door_is_shut_and_a_rule_opens_it(void **state)
{
	struct policy *policy = policy_of(POLICY(NONE));
	FILE *file = fopen(DOORS, "r");
	char line[2048];
	size_t count = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct door door;

		line[strcspn(line, "\n")] = '\0';
		if (!read_door(line, &door)) {
			assert_true(line[0] == '\0' || line[0] == '#');
			continue;
		}
		check_door(policy, &door);
		free(door.body);
		count++;
	}
	assert_int_equal(fclose(file), 0);
	assert_true(count >= DOORS_LEAST);
	policy_free(policy);
}

#define REPO	"/repos/acme/widgets"
#define GRAPHQL "POST", "api.github.com", "/graphql"
#define CREATE(more)                                                           \
	"{\"query\":\"mutation M($i: I!) { createPullRequest(input: $i) { "    \
	"pullRequest { id url } } }\",\"variables\":{\"i\":{" more "}}}"

static const struct wanted {
	const char *method, *host, *path, *body, *rule, *credential;
} wanted[] = {
	{"GET", "api.github.com", REPO, "", "read", "github"},
	{"GET", "api.github.com", REPO "/pulls/7", "", "read", "github"},
	{"HEAD", "api.github.com", REPO "/actions/runs/5/jobs", "", "read",
	 "github"},
	{"GET", "api.github.com", REPO "/contents/README.md", "", "read",
	 "github"},
	{"GET", "api.github.com", "/", "", "read", "github"},
	{"GET", "api.github.com", "/user", "", "read", "github"},
	{"GET", "raw.githubusercontent.com", "/acme/widgets/main/f", "", "raw",
	 ""},
	{"GET", "codeload.github.com", "/acme/widgets/tar.gz/main", "", "raw",
	 ""},
	{"POST", "api.github.com", REPO "/issues/7/comments",
	 "{\"body\":\"two\\nlines\"}", "comment", "github"},
	{"POST", "api.github.com", REPO "/pulls/7/comments/1/replies",
	 "{\"body\":\"yes\"}", "comment", "github"},
	{"POST", "api.github.com", REPO "/pulls",
	 "{\"head\":\"agent/42\",\"base\":\"main\",\"title\":\"t\"}",
	 "open-pull-request", "github"},
	{"POST", "api.github.com", REPO "/pulls",
	 "{\"head\":\"acme:agent/42\",\"base\":\"main\"}", "open-pull-request",
	 "github"},
	{GRAPHQL, "{\"query\":\"{ viewer { login } }\"}", "query", "github"},
	{GRAPHQL,
	 "{\"query\":\"query Q($n: Int!) { a: repository(owner: "
	 "\\\"acme\\\", name: \\\"widgets\\\") { pullRequest(number: "
	 "$n) { id } } }\",\"variables\":{\"n\":7}}",
	 "query", "github"},
	{GRAPHQL,
	 CREATE("\"repositoryId\":\"R_1\",\"headRefName\":\"agent/"
		"42\""),
	 "mutation", "github"},
	{GRAPHQL,
	 CREATE("\"repositoryId\":\"R_1\",\"headRefName\":\"acme:agent/"
		"42\""),
	 "mutation", "github"},
	{GRAPHQL,
	 "{\"query\":\"mutation { closePullRequest(input: "
	 "{pullRequestId: \\\"PR_1\\\"}) { clientMutationId } }\"}",
	 "mutation", "github"},
	{GRAPHQL,
	 "{\"query\":\"mutation { addPullRequestReview(input: "
	 "{pullRequestId: \\\"PR_1\\\", event: COMMENT, body: "
	 "\\\"b\\\"}) { clientMutationId } }\"}",
	 "mutation", "github"},
	{GRAPHQL,
	 "{\"query\":\"mutation { addComment(input: {subjectId: "
	 "\\\"I_1\\\", body: \\\"b\\\"}) { clientMutationId } }\"}",
	 "mutation", "github"},
};

static void what_gh_asks_for_passes(void **state)
{
	struct policy *policy = policy_of(POLICY(NONE));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct verdict verdict =
			ask(policy, wanted[i].method, wanted[i].host,
			    wanted[i].path, wanted[i].body);
		const size_t prefix = strlen("github-cli/");

		print_message("%s %s %s\n", wanted[i].method, wanted[i].path,
			      wanted[i].body);
		assert_int_equal(verdict.kind, VERDICT_ALLOW);
		assert_true(bytes_is(
			bytes_slice(verdict.rule, prefix, verdict.rule.len),
			wanted[i].rule));
		assert_true(bytes_is(verdict.credential, wanted[i].credential));
	}
	policy_free(policy);
}

/* By aliases, fragments, batches and variables; what is none is no door. */
static void graphql_hides_no_mutation(void **state)
{
	static const struct {
		const char *body, *rule;
	} rows[] = {
		{"{\"query\":\"mutation { viewer: createRef(input: {}) { "
		 "clientMutationId } }\"}",
		 "graphql-push"},
		{"{\"query\":\"mutation { ...F } fragment F on Mutation { ... "
		 "on Mutation { x: mergePullRequest(input: {}) { id } } }\"}",
		 "graphql-merge"},
		{"[{\"query\":\"{ viewer { login } }\"},{\"query\":\"mutation "
		 "{ createRef(input: {}) { id } }\"}]",
		 "graphql-push"},
		{"{\"query\":\"query A { viewer { login } } mutation B { "
		 "updateRef(input: {}) { id } }\",\"operationName\":\"B\"}",
		 "graphql-push"},
		{"{\"query\":\"mutation { a: addComment(input: {}) { id } b: "
		 "createRef(input: {}) { id } }\"}",
		 "graphql-push"},
		{"{\"query\":\"mutation M($h: String = \\\"main\\\") { "
		 "createPullRequest(input: {headRefName: $h}) { id } }\"}",
		 "graphql-pull-request"},
		{"{\"query\":\"mutation { a: createPullRequest(input: "
		 "{headRefName: \\\"agent/42\\\"}) { id } b: "
		 "createPullRequest(input: {headRefName: \\\"main\\\"}) { id "
		 "} }\"}",
		 "graphql-pull-request"},
		{"{\"query\":\"subscription { x }\"}", "graphql-unreadable"},
		{"{\"query\":\"{ viewer\"}", "graphql-unreadable"},
		{"{\"query\":\"{ viewer { login } }\",\"id\":\"1\"}",
		 "graphql-unreadable"},
		{"{\"query\":\"query A { a } query B { b }\"}",
		 "graphql-unreadable"},
		{"{\"query\":\"{ a }\",\"query\":\"mutation { createRef }\"}",
		 "graphql-unreadable"},
		{"no JSON", "graphql-unreadable"},
	};
	struct policy *policy = policy_of(POLICY(NONE));
	const size_t prefix = strlen("github-cli/");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdict verdict = ask(policy, GRAPHQL, rows[i].body);

		print_message("%s\n", rows[i].body);
		assert_int_equal(verdict.kind, VERDICT_DENY);
		assert_true(bytes_is(
			bytes_slice(verdict.rule, prefix, verdict.rule.len),
			rows[i].rule));
	}
	policy_free(policy);
}

static void other_repositories_are_not_read(void **state)
{
	static const char *const urls[][2] = {
		{"api.github.com", "/repos/evil/widgets"},
		{"api.github.com", "/repos/acme/widgets-two/issues"},
		{"api.github.com", "/repositories/1296269/issues"},
		{"api.github.com", "/search/code"},
		{"api.github.com", "/user/repos"},
		{"api.github.com", "/graphql"},
		{"raw.githubusercontent.com", "/evil/widgets/main/f"},
		{"codeload.github.com", "/acme/widgets-two/zip/main"},
		{"objects.githubusercontent.com", "/github-production/1"},
	};
	struct policy *policy = policy_of(POLICY(NONE));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		struct verdict verdict =
			ask(policy, "GET", urls[i][0], urls[i][1], "");

		print_message("%s%s\n", urls[i][0], urls[i][1]);
		assert_int_equal(verdict.kind, VERDICT_DENY);
		assert_true(bytes_is(verdict.rule, "default"));
	}
	policy_free(policy);
}

static void the_preset_needs_a_repository_of_github(void **state)
{
#define TOP(git)                                                               \
	"version: 1\nextends: [github-cli]\n"                                  \
	"credentials:\n  - {name: c, secret: s, attach: github, hosts: "       \
	"['*.github.com', github.com, git.example]}\n" git
#define GIT(text) "git:\n  - {repo: 'https://" text ", read: true}\n"
	static const struct {
		const char *text;
		const char *told;
	} rows[] = {
		{TOP(GIT("github.com/acme/widgets', credential: c")), NULL},
		{TOP(GIT("git.example/a/b'") "  - {repo: "
					     "'https://github.com/acme/"
					     "widgets', "
					     "credential: c, read: true}\n"),
		 NULL},
		{TOP(""),
		 "p.yaml:2:10: preset github-cli cannot be used: no repository "
		 "of github.com stands in \"git\" for ${github.owner}"},
		{TOP(GIT("git.example/a/b', credential: c")),
		 "no repository of github.com stands in \"git\""},
		{TOP(GIT("github.com/acme/widgets'")),
		 "the first repository of github.com in \"git\" has no "
		 "${github.credential}"},
		{"version: 1\nnetwork:\n  rules:\n  - {hosts: [a.example], "
		 "paths: ['/${github.owner}'], action: allow}\n",
		 "stands in \"git\" for ${github.owner}"},
		{"version: 1\nnetwork:\n  rules:\n  - {hosts: [a.example], "
		 "paths: ['/${github.ower}'], action: allow}\n",
		 "there is no variable \"github.ower\"; did you mean "
		 "\"github.owner\"?"},
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

/* As `policy check` does: ${session.repo} stands for nobody's. */
static void
a_text_that_takes_its_repository_from_the_session_checks(void **state)
{
	static const char text[] =
		"version: 1\nextends: [github-cli]\n"
		"credentials:\n  - {name: c, secret: s, attach: github, hosts: "
		"[api.github.com, github.com]}\n"
		"git:\n  - {repo: '${session.repo}', credential: c, read: "
		"true}\n";
	struct policy_errors errors = {.file = "p.yaml"};
	struct policy *policy = policy_compile(bytes_str(text), NULL, &errors);

	(void)state;
	assert_non_null(policy);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_side_door_is_shut_and_a_rule_opens_it),
		cmocka_unit_test(what_gh_asks_for_passes),
		cmocka_unit_test(graphql_hides_no_mutation),
		cmocka_unit_test(other_repositories_are_not_read),
		cmocka_unit_test(the_preset_needs_a_repository_of_github),
		cmocka_unit_test(
			a_text_that_takes_its_repository_from_the_session_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
