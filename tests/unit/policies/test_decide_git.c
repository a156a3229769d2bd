#include "policy_of.h"

#define READ   "service=git-upload-pack"
#define WRITE  "service=git-receive-pack"
#define SHA1   "0123456789abcdef0123456789abcdef012345"
#define SHA256 SHA1 "6789abcdef0123456789abcd"

static void git_endpoint_of_tells_every_endpoint(void **state)
{
	static const struct {
		const char *method, *path, *query;
		enum git_endpoint endpoint;
		const char *repo;
	} rows[] = {
		{"GET", "/o/r/info/refs", READ, GIT_ADVERTISE_READ, "/o/r"},
		{"GET", "/o/r.git/info/refs", READ, GIT_ADVERTISE_READ, "/o/r"},
		{"GET", "/o/r/info/refs", WRITE, GIT_ADVERTISE_WRITE, "/o/r"},
		{"POST", "/o/r/git-upload-pack", "", GIT_UPLOAD_PACK, "/o/r"},
		{"POST", "/o/r.git/git-receive-pack", "", GIT_RECEIVE_PACK,
		 "/o/r"},
		{"POST", "/git-receive-pack", "", GIT_NONE, ""},
		{"GET", "/info/refs", READ, GIT_NONE, ""},
		{"GET", "/o/r.git.git/info/refs", READ, GIT_ADVERTISE_READ,
		 "/o/r.git"},
		{"GET", "/o/.git/info/refs", READ, GIT_ADVERTISE_READ,
		 "/o/.git"},
		{"GET", "/o/r/info/refs", "", GIT_DUMB, "/o/r"},
		{"GET", "/o/r/HEAD", "", GIT_DUMB, "/o/r"},
		{"GET", "/o/r/objects/info/packs", "", GIT_DUMB, "/o/r"},
		{"GET", "/o/r/objects/pack/x.pack", "", GIT_DUMB, "/o/r"},
		{"GET", "/o/r/objects/ab/" SHA1, "", GIT_DUMB, "/o/r"},
		{"PUT", "/o/r/objects/ab/" SHA256, "", GIT_DUMB, "/o/r"},
		{"GET", "/o/r/objects/ab/cd", "", GIT_NONE, ""},
		{"GET", "/o/r/objects/x", "", GIT_NONE, ""},
		{"POST", "/o/r.git/info/lfs/objects/batch", "", GIT_NONE, ""},
		{"GET", "/o/r/info/refs", READ "&" WRITE, GIT_AMBIGUOUS,
		 "/o/r"},
		{"GET", "/o/r/info/refs", READ "&x=1", GIT_AMBIGUOUS, "/o/r"},
		{"GET", "/o/r/info/refs", "service=git-receive%2dpack",
		 GIT_AMBIGUOUS, "/o/r"},
		{"GET", "/o/r/info/refs", "x=1", GIT_AMBIGUOUS, "/o/r"},
		{"POST", "/o/r/info/refs", WRITE, GIT_AMBIGUOUS, "/o/r"},
		{"HEAD", "/o/r/info/refs", READ, GIT_AMBIGUOUS, "/o/r"},
		{"GET", "/o/r/git-receive-pack", "", GIT_AMBIGUOUS, "/o/r"},
		{"POST", "/o/r/git-receive-pack", "x", GIT_AMBIGUOUS, "/o/r"},
		{"PUT", "/o/r/git-upload-pack", "", GIT_AMBIGUOUS, "/o/r"},
		{"POST", "/o/r/git-receive-pack/", "", GIT_AMBIGUOUS, "/o/r"},
		{"POST", "/o/r/Git-Receive-Pack", "", GIT_AMBIGUOUS, "/o/r"},
		{"POST", "/o/r.git/git-upload-pack%20/", "", GIT_AMBIGUOUS,
		 "/o/r"},
		{"POST", "/o/r/git-receive-pack.", "", GIT_AMBIGUOUS, "/o/r"},
		{"POST", "/o/r/git-receive-pack%3Ba%3Fb", "", GIT_AMBIGUOUS,
		 "/o/r"},
		{"POST", "/o%3Bx/r/Git-receive-pack", "", GIT_AMBIGUOUS,
		 "/o%3Bx/r"},
		{"GET", "/o/r/info/refs/", READ, GIT_AMBIGUOUS, "/o/r"},
		{"GET", "/o/r/INFO/Refs", "", GIT_AMBIGUOUS, "/o/r"},
		{"POST", "/Git-Receive-Pack", "", GIT_NONE, ""},
		{"POST", "/o/r/git-receive-packs", "", GIT_NONE, ""},
		{"POST", "/o/r/x-git-receive-pack", "", GIT_NONE, ""},
		{"GET", "/o/r/refs", "", GIT_NONE, ""},
		{"GET", "/o/r", "", GIT_NONE, ""},
		{"GET", "/", "", GIT_NONE, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct request_facts facts = request_of((struct request_line){
			rows[i].method, "https", "a.example", rows[i].path,
			rows[i].query});
		struct bytes repo;

		print_message("%s %s?%s\n", rows[i].method, rows[i].path,
			      rows[i].query);
		assert_int_equal(git_endpoint_of(&facts, &repo),
				 rows[i].endpoint);
		assert_true(bytes_is(repo, rows[i].repo));
	}
}

static void a_websocket_is_no_fetch(void **state)
{
	struct request_facts facts = request_of((struct request_line){
		"GET", "https", "a.example", "/o/r/info/refs", READ});
	struct bytes repo;

	(void)state;
	assert_int_equal(git_endpoint_of(&facts, &repo), GIT_ADVERTISE_READ);
	facts.is_websocket = true;
	assert_int_equal(git_endpoint_of(&facts, &repo), GIT_AMBIGUOUS);
	assert_true(bytes_is(repo, "/o/r"));
}

static const char two_repos[] =
	"version: 1\n"
	"git:\n"
	"  - {repo: 'https://github.com/Acme/Widgets.git/', read: true,\n"
	"     push: {branches: ['${session.branch}', 'wip/**'], tags: ['v*'],\n"
	"            verbs: [create, fast-forward]}}\n"
	"  - {repo: 'https://git.example:8443/team/Tool',\n"
	"     push: {branches: [main], verbs: [rewrite, delete]}}\n";

static void decide_repo_knows_one_identity(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *path;
		int index; /* -1: none */
	} rows[] = {
		{"github.com", 443, "/Acme/Widgets", 0},
		{"github.com", 443, "/acme/widgets", 0},
		{"github.com", 443, "/ACME/wIDGETS", 0},
		{"github.com", 443, "/acme/widgets2", -1},
		{"github.com", 443, "/acme", -1},
		{"github.com", 443, "/acme/widgets.git", -1},
		{"github.com", 443, "", -1},
		{"github.com", 80, "/acme/widgets", -1},
		{"api.github.com", 443, "/acme/widgets", -1},
		{"git.example", 8443, "/team/Tool", 1},
		{"git.example", 8443, "/team/tool", -1},
		{"git.example", 443, "/team/Tool", -1},
	};
	struct policy *policy = policy_of(two_repos);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target_facts target =
			target_of(rows[i].host, rows[i].port);
		const struct policy_repo *repo =
			decide_repo(policy, &target, bytes_str(rows[i].path));

		print_message("%s:%u%s\n", rows[i].host, rows[i].port,
			      rows[i].path);
		assert_ptr_equal(repo, rows[i].index < 0
					       ? NULL
					       : &policy->repos[rows[i].index]);
	}
	policy_free(policy);
}

static void decide_fetch_asks_for_read(void **state)
{
	struct policy *policy = policy_of(two_repos);
	struct verdict verdict;

	(void)state;
	assert_int_equal(decide_fetch(&policy->repos[0]).kind, VERDICT_ALLOW);
	verdict = decide_fetch(&policy->repos[1]);
	assert_int_equal(verdict.kind, VERDICT_DENY);
	assert_int_equal(verdict.constraint, CONSTRAINT_fetch_not_allowed);
	policy_free(policy);
}

#define OK    CONSTRAINT_none
#define REF   CONSTRAINT_push_ref_not_allowed
#define VERB  CONSTRAINT_push_verb_not_allowed
#define NO_FF CONSTRAINT_push_not_fast_forward

static void decide_push_binds_verbs_to_refs(void **state)
{
	static const struct {
		int repo;
		const char *ref;
		enum push_verb verb;
		enum constraint constraint;
		bool needs_proof;
	} rows[] = {
		{0, "refs/heads/agent/42", PUSH_CREATE, OK, false},
		{0, "refs/heads/agent/42", PUSH_UPDATE, OK, true},
		{0, "refs/heads/agent/42", PUSH_FAST_FORWARD, OK, false},
		{0, "refs/heads/agent/42", PUSH_REWRITE, NO_FF, false},
		{0, "refs/heads/agent/42", PUSH_DELETE, VERB, false},
		{0, "refs/heads/wip/a/b", PUSH_CREATE, OK, false},
		{0, "refs/heads/wip/../main", PUSH_CREATE, REF, false},
		{0, "refs/heads/wip/refs/x", PUSH_CREATE, REF, false},
		{0, "refs/heads/wip/a.lock", PUSH_CREATE, REF, false},
		{0, "refs/heads/wip/a b", PUSH_CREATE, REF, false},
		{0, "refs/heads/main", PUSH_CREATE, REF, false},
		{0, "refs/heads/main", PUSH_UPDATE, REF, false},
		{0, "refs/heads/main", PUSH_DELETE, REF, false},
		{0, "refs/heads/Agent/42", PUSH_UPDATE, REF, false},
		{0, "refs/heads/agent/42/x", PUSH_CREATE, REF, false},
		{0, "refs/heads/agent/421", PUSH_CREATE, REF, false},
		{0, "refs/heads/refs/heads/agent/42", PUSH_CREATE, REF, false},
		{0, "refs/heads/agent/../agent/42", PUSH_CREATE, REF, false},
		{0, "refs/heads/HEAD", PUSH_UPDATE, REF, false},
		{0, "HEAD", PUSH_UPDATE, REF, false},
		{0, "agent/42", PUSH_UPDATE, REF, false},
		{0, "refs/remotes/agent/42", PUSH_UPDATE, REF, false},
		{0, "refs/notes/agent/42", PUSH_CREATE, REF, false},
		{0, "refs/pull/1/head", PUSH_CREATE, REF, false},
		{0, "refs/for/agent/42", PUSH_CREATE, REF, false},
		{0, "refs/replace/agent/42", PUSH_CREATE, REF, false},
		{0, "refs/namespaces/x/refs/heads/agent/42", PUSH_CREATE, REF,
		 false},
		{0, "refs/tags/v1", PUSH_CREATE, OK, false},
		{0, "refs/tags/v1", PUSH_UPDATE, VERB, false},
		{0, "refs/tags/v1", PUSH_FAST_FORWARD, VERB, false},
		{0, "refs/tags/v1", PUSH_REWRITE, VERB, false},
		{0, "refs/tags/x1", PUSH_CREATE, REF, false},
		{0, "refs/tags/agent/42", PUSH_CREATE, REF, false},
		{0, "refs/heads/v1", PUSH_CREATE, REF, false},
		{1, "refs/heads/main", PUSH_CREATE, VERB, false},
		{1, "refs/heads/main", PUSH_UPDATE, OK, false},
		{1, "refs/heads/main", PUSH_FAST_FORWARD, OK, false},
		{1, "refs/heads/main", PUSH_REWRITE, OK, false},
		{1, "refs/heads/main", PUSH_DELETE, OK, false},
		{1, "refs/tags/v1", PUSH_CREATE, REF, false},
	};
	struct policy *policy = policy_of(two_repos);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct push_facts facts = {bytes_str(rows[i].ref),
					   rows[i].verb};
		bool needs_proof = !rows[i].needs_proof;
		struct verdict verdict = decide_push(
			&policy->repos[rows[i].repo], &facts, &needs_proof);

		print_message("%s %d\n", rows[i].ref, (int)rows[i].verb);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(rows[i].constraint));
		assert_int_equal(verdict.kind == VERDICT_ALLOW,
				 rows[i].constraint == OK);
		assert_int_equal(needs_proof, rows[i].needs_proof);
	}
	policy_free(policy);
}

static void decide_proves_moves_where_one_of_both_forbids_rewrites(void **state)
{
	static const struct {
		unsigned own, guard; /* guard 0: there is none */
		bool proves;
	} rows[] = {
		{VERB_CREATE | VERB_FAST_FORWARD, 0, true},
		{VERB_FAST_FORWARD | VERB_REWRITE, 0, false},
		{VERB_CREATE | VERB_DELETE, 0, false},
		{VERB_FAST_FORWARD | VERB_REWRITE, VERB_FAST_FORWARD, true},
		{VERB_FAST_FORWARD | VERB_REWRITE, VERB_REWRITE, false},
		{VERB_CREATE, VERB_CREATE, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct policy_repo guard = {.verbs = rows[i].guard};
		const struct policy_repo repo = {
			.verbs = rows[i].own,
			.guard = rows[i].guard ? &guard : NULL,
		};

		if (decide_proves_moves(&repo) != rows[i].proves)
			fail_msg("row %zu", i);
	}
}

static void decide_push_names_the_verb_that_it_denies(void **state)
{
	static const struct {
		int repo;
		const char *ref;
		enum push_verb verb;
		const char *reason;
	} rows[] = {
		{1, "refs/heads/main", PUSH_CREATE, "may not create it"},
		{0, "refs/heads/agent/42", PUSH_DELETE, "may not delete it"},
		{0, "refs/tags/v1", PUSH_UPDATE, "may not move a tag"},
		{0, "refs/tags/v1", PUSH_REWRITE, "no \"rewrite\""},
		{2, "refs/heads/x", PUSH_UPDATE, "no \"fast-forward\""},
		{2, "refs/heads/x", PUSH_REWRITE, "may not rewrite it"},
	};
	struct policy *policy = policy_of(
		"version: 1\ngit:\n"
		"  - {repo: 'https://a.example/o/r', push: {branches: "
		"[agent/42], tags: ['v*']}}\n"
		"  - {repo: 'https://a.example/o/s', push: {branches: [main], "
		"verbs: [fast-forward, rewrite, delete]}}\n"
		"  - {repo: 'https://a.example/o/t', push: {branches: [x], "
		"verbs: [create]}}\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct push_facts facts = {bytes_str(rows[i].ref),
					   rows[i].verb};
		bool needs_proof;
		struct verdict verdict = decide_push(
			&policy->repos[rows[i].repo], &facts, &needs_proof);

		assert_int_equal(verdict.constraint, VERB);
		if (bytes_find_bytes(verdict.reason, bytes_str(rows[i].reason),
				     0) < 0)
			fail_msg("row %zu: %.*s", i,
				 BYTES_ARGS(verdict.reason));
	}
	policy_free(policy);
}

static void decide_push_option_wants_a_whole_match(void **state)
{
	static const struct {
		const char *options, *option;
		bool is_allowed;
	} rows[] = {
		{"['ci\\.skip']", "ci.skip", true},
		{"['ci\\.skip']", "ci.skip2", false},
		{"['ci\\.skip']", "xci.skip", false},
		{"['ci\\.skip']", "ci-skip", false},
		{"['ci\\.skip']", "ci.skip\n", false},
		{"[a, 'b=[0-9]+']", "b=12", true},
		{"[a, 'b=[0-9]+']", "b=", false},
		{"['.*']", "x\xff", false},
		{"[]", "x", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[512];
		struct policy *policy;

		(void)snprintf(text, sizeof(text),
			       "version: 1\ngit: [{repo: "
			       "'https://a.example/o/r', push: {branches: [x], "
			       "options: %s}}]",
			       rows[i].options);
		policy = policy_of(text);
		if (decide_push_option(&policy->repos[0],
				       bytes_str(rows[i].option)) !=
		    rows[i].is_allowed)
			fail_msg("row %zu", i);
		policy_free(policy);
	}
}

static void decide_push_needs_a_push_section(void **state)
{
	struct policy *policy = policy_of(
		"version: 1\ngit: [{repo: 'https://a.example/r', read: true}]");
	struct push_facts facts = {bytes_str("refs/heads/main"), PUSH_CREATE};
	bool needs_proof;
	struct verdict verdict =
		decide_push(&policy->repos[0], &facts, &needs_proof);

	(void)state;
	assert_int_equal(verdict.constraint, REF);
	policy_free(policy);
	policy = policy_of("version: 1\ngit: [{repo: 'https://a.example/r', "
			   "read: true, push: {branches: [main]}}]");
	verdict = decide_push(&policy->repos[0], &facts, &needs_proof);
	assert_int_equal(verdict.constraint, OK);
	policy_free(policy);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(git_endpoint_of_tells_every_endpoint),
		cmocka_unit_test(a_websocket_is_no_fetch),
		cmocka_unit_test(decide_repo_knows_one_identity),
		cmocka_unit_test(decide_fetch_asks_for_read),
		cmocka_unit_test(decide_push_binds_verbs_to_refs),
		cmocka_unit_test(
			decide_proves_moves_where_one_of_both_forbids_rewrites),
		cmocka_unit_test(decide_push_names_the_verb_that_it_denies),
		cmocka_unit_test(decide_push_option_wants_a_whole_match),
		cmocka_unit_test(decide_push_needs_a_push_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
