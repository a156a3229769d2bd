#include "policy_of.h"

#define ALLOW CONSTRAINT_none

static const char acme[] =
	"version: 1\n"
	"extends: [github, npm, debian]\n"
	"network:\n"
	"  rules:\n"
	"  - name: issues\n"
	"    hosts: [api.github.com]\n"
	"    methods: [GET, HEAD]\n"
	"    paths: ['/repos/acme/widgets/issues/**', '/repos/*/releases']\n"
	"    credential: github\n"
	"    action: allow\n"
	"  - name: no-secrets\n"
	"    hosts: [api.github.com]\n"
	"    paths: ['/repos/acme/secret/**']\n"
	"    action: deny\n"
	"    reason: not for you\n"
	"  - name: pull\n"
	"    hosts: [api.github.com]\n"
	"    methods: [POST]\n"
	"    paths: ['/repos/acme/widgets/pulls']\n"
	"    credential: github\n"
	"    action: allow\n"
	"  - name: everything-there\n"
	"    hosts: [open.example, '*.open.example']\n"
	"    action: allow\n"
	"  - name: port\n"
	"    hosts: [port.example]\n"
	"    ports: [8443]\n"
	"    action: allow\n"
	"  - name: forge\n"
	"    hosts: [git.example]\n"
	"    paths: ['/acme/**']\n"
	"    credential: forge\n"
	"    action: allow\n"
	"  - name: branch\n"
	"    hosts: [branch.example]\n"
	"    paths: ['/refs/${session.branch}']\n"
	"    action: allow\n"
	"  - name: no-writes\n"
	"    methods: [POST, PUT, PATCH, DELETE]\n"
	"    action: deny\n"
	"    reason: only ${session.branch}\n"
	"  - name: last\n"
	"    hosts: [last.example]\n"
	"    action: allow\n"
	"credentials:\n"
	"  - {name: github, secret: app, attach: github,\n"
	"     hosts: [github.com, api.github.com]}\n"
	"  - {name: forge, secret: forge, attach: bearer, hosts: "
	"[git.example]}\n"
	"git:\n"
	"  - {repo: 'https://code.example/o/r', read: true}\n";

#define API "https", "api.github.com"

static const struct {
	struct request_line line;
	enum constraint constraint;
	const char *rule;
	const char *credential;
} rows[] = {
	{{"GET", API, "/repos/acme/widgets/issues/1", ""},
	 ALLOW,
	 "issues",
	 "github"},
	{{"HEAD", API, "/repos/acme/widgets/issues/1/x", ""},
	 ALLOW,
	 "issues",
	 "github"},
	{{"GET", API, "/repos/x/releases", ""}, ALLOW, "issues", "github"},
	{{"GET", "http", "api.github.com", "/repos/acme/widgets/issues/1", ""},
	 CONSTRAINT_scheme_not_allowed,
	 "issues",
	 ""},
	/* falls to the preset, which has no credential */
	{{"GET", API, "/repos/x/y/releases", ""}, ALLOW, "github/read", ""},
	{{"GET", API, "/repos/acme/widgets/issues", ""},
	 ALLOW,
	 "github/read",
	 ""},
	{{"GET", API, "/repos/acme/secret/x", ""},
	 CONSTRAINT_denied_by_rule,
	 "no-secrets",
	 ""},
	{{"GET", API, "/repos/acme/secrets/x", ""}, ALLOW, "github/read", ""},
	/* what is denied is so in any case, what is allowed is not */
	{{"GET", API, "/Repos/ACME/secret/x", ""},
	 CONSTRAINT_denied_by_rule,
	 "no-secrets",
	 ""},
	{{"GET", "https", "branch.example", "/refs/Agent/42", ""},
	 CONSTRAINT_path_not_allowed,
	 "default",
	 ""},
	{{"POST", API, "/repos/acme/widgets/pulls", ""},
	 ALLOW,
	 "pull",
	 "github"},
	{{"POST", API, "/repos/acme/widgets/pulls/", ""},
	 CONSTRAINT_denied_by_rule,
	 "no-writes",
	 ""},
	{{"POST", API, "/repos/acme/widgets/merges", ""},
	 CONSTRAINT_denied_by_rule,
	 "no-writes",
	 ""},
	{{"OPTIONS", API, "/repos/acme/widgets/pulls", ""},
	 CONSTRAINT_method_not_allowed,
	 "default",
	 ""},
	{{"DELETE", "https", "open.example", "/", ""},
	 ALLOW,
	 "everything-there",
	 ""},
	{{"DELETE", "http", "open.example", "/", ""},
	 ALLOW,
	 "everything-there",
	 ""},
	{{"DELETE", "https", "a.open.example", "/", ""},
	 ALLOW,
	 "everything-there",
	 ""},
	{{"DELETE", "https", "aopen.example", "/", ""},
	 CONSTRAINT_denied_by_rule,
	 "no-writes",
	 ""},
	{{"GET", "https", "aopen.example", "/", ""},
	 CONSTRAINT_host_not_allowed,
	 "default",
	 ""},
	{{"GET", "https", "port.example", "/", ""},
	 CONSTRAINT_port_not_allowed,
	 "default",
	 ""},
	{{"POST", "https", "last.example", "/", ""},
	 CONSTRAINT_denied_by_rule,
	 "no-writes",
	 ""},
	{{"GET", "https", "last.example", "/", ""}, ALLOW, "last", ""},
	{{"GET", "https", "branch.example", "/refs/agent/42", ""},
	 ALLOW,
	 "branch",
	 ""},
	{{"GET", "https", "branch.example", "/refs/agent/43", ""},
	 CONSTRAINT_path_not_allowed,
	 "default",
	 ""},
	/* a credential goes to git's endpoints only by `git` */
	{{"GET", "https", "git.example", "/acme/x/raw/a", ""},
	 ALLOW,
	 "forge",
	 "forge"},
	{{"POST", "https", "git.example", "/acme/x/git-receive-pack", ""},
	 CONSTRAINT_git_not_allowed,
	 "forge",
	 ""},
	{{"POST", "https", "git.example", "/acme/x/git-upload-pack", ""},
	 CONSTRAINT_git_not_allowed,
	 "forge",
	 ""},
	{{"GET", "https", "git.example", "/acme/x/info/refs",
	  "service=git-receive-pack"},
	 CONSTRAINT_git_not_allowed,
	 "forge",
	 ""},
	{{"GET", "https", "git.example", "/acme/x/info/refs",
	  "service=git-receive-pack&x=1"},
	 CONSTRAINT_git_not_allowed,
	 "forge",
	 ""},
	/* a repository's host: what is not the repository goes by rules */
	{{"GET", "https", "code.example", "/o/r/issues", ""},
	 CONSTRAINT_path_not_allowed,
	 "default",
	 ""},
	{{"POST", "https", "code.example", "/o/r/issues", ""},
	 CONSTRAINT_denied_by_rule,
	 "no-writes",
	 ""},
	/* presets */
	{{"GET", "https", "github.com", "/o/r/archive/main.tar.gz", ""},
	 ALLOW,
	 "github/read",
	 ""},
	{{"GET", "http", "github.com", "/o/r", ""},
	 CONSTRAINT_port_not_allowed,
	 "default",
	 ""},
	{{"GET", "https", "github.com", "/o/r/info/refs",
	  "service=git-upload-pack"},
	 ALLOW,
	 "github/read",
	 ""},
	{{"GET", "https", "codeload.github.com", "/x", ""},
	 ALLOW,
	 "github/read",
	 ""},
	{{"GET", "https", "raw.githubusercontent.com", "/x", ""},
	 ALLOW,
	 "github/read",
	 ""},
	{{"GET", "https", "gist.github.com", "/x", ""},
	 CONSTRAINT_host_not_allowed,
	 "default",
	 ""},
	{{"GET", "https", "uploads.github.com", "/x", ""},
	 CONSTRAINT_host_not_allowed,
	 "default",
	 ""},
	{{"GET", "https", "registry.npmjs.org", "/@babel/core", ""},
	 ALLOW,
	 "npm/read",
	 ""},
	{{"GET", "http", "registry.npmjs.org", "/x", ""},
	 CONSTRAINT_port_not_allowed,
	 "default",
	 ""},
	{{"GET", "https", "deb.debian.org", "/debian/dists/x", ""},
	 ALLOW,
	 "debian/read",
	 ""},
	{{"GET", "http", "deb.debian.org", "/debian/dists/x", ""},
	 ALLOW,
	 "debian/read",
	 ""},
	{{"GET", "http", "security.debian.org", "/x", ""},
	 ALLOW,
	 "debian/read",
	 ""},
	{{"GET", "https", "pypi.org", "/simple/x/", ""},
	 CONSTRAINT_host_not_allowed,
	 "default",
	 ""},
};

static void decide_request_takes_the_first_match(void **state)
{
	struct policy *policy = policy_of(acme);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct request_facts facts = request_of(rows[i].line);
		struct verdict verdict = decide_request(policy, &facts, NULL);

		print_message("%zu: %s %s\n", i, rows[i].line.method,
			      rows[i].line.path);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(rows[i].constraint));
		assert_int_equal(verdict.kind == VERDICT_ALLOW,
				 rows[i].constraint == ALLOW);
		assert_true(bytes_is(verdict.rule, rows[i].rule));
		assert_true(bytes_is(verdict.credential, rows[i].credential));
	}
	policy_free(policy);
}

static void decide_request_gives_the_rules_reason(void **state)
{
	struct policy *policy = policy_of(acme);
	struct request_facts facts =
		request_of((struct request_line){"PUT", API, "/x", ""});
	struct verdict verdict = decide_request(policy, &facts, NULL);

	(void)state;
	assert_true(bytes_is(verdict.reason, "only agent/42"));
	policy_free(policy);
}

static void decide_request_opens_reads_and_no_writes_by_presets(void **state)
{
	static const struct {
		struct request_line line;
		enum constraint constraint;
	} reads[] = {
		{{"POST", "https", "github.com", "/o/r/git-upload-pack", ""},
		 ALLOW},
		{{"POST", "https", "github.com", "/o/r.git/git-upload-pack",
		  ""},
		 ALLOW},
		{{"POST", "https", "github.com", "/o/r/git-receive-pack", ""},
		 CONSTRAINT_path_not_allowed},
		{{"POST", API, "/repos/o/r/issues", ""},
		 CONSTRAINT_method_not_allowed},
		{{"POST", "https", "registry.npmjs.org",
		  "/-/npm/v1/security/advisories/bulk", ""},
		 ALLOW},
		{{"PUT", "https", "registry.npmjs.org", "/x", ""},
		 CONSTRAINT_method_not_allowed},
		{{"POST", "https", "registry.npmjs.org", "/-/v1/login", ""},
		 CONSTRAINT_path_not_allowed},
		{{"GET", "https", "pypi.org", "/simple/x/", ""}, ALLOW},
		{{"GET", "https", "files.pythonhosted.org", "/x.whl", ""},
		 ALLOW},
		{{"POST", "https", "pypi.org", "/legacy/", ""},
		 CONSTRAINT_method_not_allowed},
		{{"POST", "https", "upload.pypi.org", "/legacy/", ""},
		 CONSTRAINT_host_not_allowed},
		{{"PUT", "http", "deb.debian.org", "/x", ""},
		 CONSTRAINT_method_not_allowed},
	};
	struct policy *policy =
		policy_of("version: 1\nextends: [github, npm, pypi, debian]\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		struct request_facts facts = request_of(reads[i].line);
		struct verdict verdict = decide_request(policy, &facts, NULL);

		print_message("%s %s\n", reads[i].line.method,
			      reads[i].line.path);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(reads[i].constraint));
	}
	policy_free(policy);
}

static void decide_request_traces_each_step(void **state)
{
	struct policy *policy = policy_of(
		"version: 1\nnetwork:\n  rules:\n"
		"  - {name: a, hosts: [a.example], ports: [1], action: allow}\n"
		"  - {name: b, hosts: [a.example], methods: [PUT],\n"
		"     action: allow}\n"
		"  - {name: c, hosts: [a.example], paths: [/x], action: "
		"allow}\n"
		"  - {name: d, paths: [/y], action: deny}\n");
	struct request_facts facts = request_of(
		(struct request_line){"GET", "https", "a.example", "/y", ""});
	struct buf trace;

	(void)state;
	buf_init(&trace, 4096);
	(void)decide_request(policy, &facts, &trace);
	assert_string_equal(buf_str(&trace), "a: another port\n"
					     "b: another method\n"
					     "c: another path\n"
					     "d: matches: deny\n");
	buf_release(&trace);
	policy_free(policy);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(decide_request_takes_the_first_match),
		cmocka_unit_test(decide_request_gives_the_rules_reason),
		cmocka_unit_test(
			decide_request_opens_reads_and_no_writes_by_presets),
		cmocka_unit_test(decide_request_traces_each_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
