#include "policy_of.h"

#define RULE(text)    "version: 1\nnetwork:\n  rules:\n    - " text "\n"
#define ALLOW(text)   RULE("{hosts: [a.example], action: allow, " text "}")
#define NETWORK(text) "version: 1\nnetwork:\n  " text "\n"
#define BINDING(text)                                                          \
	"version: 1\ncredentials:\n"                                           \
	"  - {name: c, secret: s, attach: bearer, hosts: [a.example]" text     \
	"}\n"
#define REPO(text)                                                             \
	"version: 1\ngit:\n  - {repo: 'https://a.example/o/r', " text "}\n"
#define URL(text)	  "version: 1\ngit:\n  - {read: true, repo: '" text "'}\n"
#define FILES(text)	  "version: 1\nfilesystem: {" text "}\n"
#define ENVIRONMENT(text) "version: 1\nenvironment: {" text "}\n"
#define DENY(text)	  NETWORK("addresses: {deny: [" text "]}")
#define EXCEPT(text)	  NETWORK("addresses: {allow: [" text "]}")

/* What is wrong, and its twin that is not: told is NULL there. */
static const struct row {
	const char *text;
	const char *told;
} rows[] = {
	/* top */
	{"version: 1\n", NULL},
	{"version: 2\n", "p.yaml:1:10: this must be 1\n"},
	{"name: x\n", "p.yaml:1:1: \"version\" is missing here"},
	{"version:\n", "\"version\" has no value"},
	{"- 1\n", "p.yaml:1:1: this must be a map of keys and values"},
	{"version: 1\nname: acme-agent\n", NULL},
	{"version: 1\nname: acme agent\n", "a name is made of"},
	{"version: 1\nname: ''\n", "a name has 1 to 64 bytes"},
	{"version: 1\nnetwrok: {}\n",
	 "p.yaml:2:1: unknown key \"netwrok\"; did you mean \"network\"?\n"
	 "netwrok: {}\n^\n"},
	{"version: 1\nzebra: {}\n", "unknown key \"zebra\"\n"},
	{"version: 1\nrules: []\n",
	 "unknown key \"rules\"; a policy has it in \"network\"\n"},
	{"version: 1\nlimits: {hide: []}\n",
	 "unknown key \"hide\"; a policy has it in \"filesystem\"\n"},
	{"version: 1\nguardrail: x\n", "\"guardrail\" is not supported yet"},
	{"version: 1\n<<: {a: 1}\n", "unknown key \"<<\""},
	{"version: 1\nnetwork: []\n", "this must be a map"},
	/* extends */
	{"version: 1\nextends: [npm]\n", NULL},
	{"version: 1\nextends: [nmp]\n",
	 "there is no preset \"nmp\"; did you mean \"npm\"?"},
	{"version: 1\nextends: [npm, npm]\n", "\"npm\" stands here twice"},
	{"version: 1\nextends: npm\n", "p.yaml:2:10: this must be a list"},
	{"version: 1\nextends: ['../x']\n", "a name is made of"},
	{"version: 1\nname: |\n  x\n  y\n", "line feeds or tabs"},
	{"version: 1\nname: \"x\\ty\"\n", "line feeds or tabs"},
	/* network */
	{NETWORK("default: deny"), NULL},
	{NETWORK("default: ask"), NULL},
	{NETWORK("default: allow"), "this must be deny or ask"},
	{NETWORK("tls: {inspect: auto}"), NULL},
	{NETWORK("tls: {inspect: always, tunnel: [a.example]}"), NULL},
	{NETWORK("tls: {inspect: never}"), "this must be auto or always"},
	{NETWORK("tls: {tunnel: ['*.com']}"), "public suffix"},
	/* rules */
	{ALLOW("name: x"), NULL},
	{RULE("{hosts: [a.example]}"), "\"action\" is missing here"},
	{RULE("{hosts: [a.example], action: alow}"), "did you mean \"allow\"?"},
	{RULE("{action: allow}"), "needs \"hosts\""},
	{RULE("{action: deny}"), NULL},
	{RULE("{hosts: ['*'], action: allow}"), NULL},
	{RULE("{hosts: [], action: deny}"), "an empty list"},
	{RULE("{hosts: ['*.co.uk'], action: deny}"), "public suffix"},
	{RULE("{hosts: ['*.example.co.uk'], action: deny}"), NULL},
	{RULE("{hosts: [0x7f.1], action: deny}"), "not a host name"},
	{RULE("{hosts: [127.0.0.1, '::1'], action: deny}"), NULL},
	{RULE("{hosts: a.example, action: deny}"), "this must be a list"},
	{RULE("{hosts: [[a.example]], action: deny}"), "must be one value"},
	{RULE("{hosts: ['${session.id}'], action: deny}"),
	 "variables have no meaning here"},
	{ALLOW("ports: [443, 8443]"), NULL},
	{ALLOW("ports: []"), "an empty list"},
	{ALLOW("ports: [0]"), "a number from 1 to 65535"},
	{ALLOW("ports: [65536]"), "a number from 1 to 65535"},
	{ALLOW("ports: [0443]"), "a number from 1 to 65535"},
	{ALLOW("ports: [-1]"), "a number from 1 to 65535"},
	{ALLOW("ports: [https]"), "a number from 1 to 65535"},
	{ALLOW("methods: [GET, HEAD, OPTIONS]"), NULL},
	{ALLOW("methods: [get]"), "did you mean \"GET\"?"},
	{ALLOW("methods: ['*']"), "this must be GET, HEAD"},
	{ALLOW("methods: []"), "an empty list"},
	{ALLOW("methods: [TRACE]"), "this must be GET, HEAD"},
	{ALLOW("paths: ['/a/**', /%7ex]"), NULL},
	{ALLOW("paths: [a]"), "no leading '/'"},
	{ALLOW("paths: [/a/../b]"), "read in two ways"},
	{ALLOW("paths: [/a%2fb]"), "read in two ways"},
	{ALLOW("paths: ['/a?b']"), "read in two ways"},
	{ALLOW("paths: []"), "an empty list"},
	{ALLOW("paths: ['/${session.branch}/${session.id}']"), NULL},
	{ALLOW("paths: ['/${session.brunch}']"),
	 "there is no variable \"session.brunch\"; did you mean "
	 "\"session.branch\"?"},
	{ALLOW("paths: ['/${session.branch']"), "is not closed"},
	{ALLOW("paths: ['/${}']"), "there is no variable \"\""},
	{ALLOW("paths: ['/$x']"), NULL},
	{ALLOW("host: x"), "unknown key \"host\"; did you mean \"hosts\"?"},
	{ALLOW("name: default"), "means something else"},
	{ALLOW("name: a/b"), "a name is made of"},
	{ALLOW("reason: 'ask ${session.id}'"), NULL},
	{ALLOW("reason: 'ask ${HOME}'"), "there is no variable \"HOME\""},
	{RULE("{name: a, action: deny}\n    - {name: b, action: deny}"), NULL},
	{RULE("{name: a, action: deny}\n    - {name: a, action: deny}"),
	 "p.yaml:5:14: there is a rule \"a\" already"},
	{RULE("foo"), "this must be a map"},
	{RULE("~"), "no value"},
	/* credentials */
	{BINDING(""), NULL},
	{BINDING(", placeholder: {env: [TOKEN, _T1]}"), NULL},
	{BINDING(", placeholder: {env: [TO-KEN]}"), "not the name of a var"},
	{BINDING(", placeholder: {}"), "\"env\" is missing here"},
	{BINDING(", username: x"), "only basic takes"},
	{BINDING("}\n  - {name: c, secret: s, attach: bearer, hosts: "
		 "[b.example]"),
	 "there is a credential \"c\" already"},
	{BINDING("}\n  - {name: d, secret: s, attach: bearer, hosts: "
		 "[b.example]"),
	 NULL},
	{BINDING(", placeholder: {env: [A]}}\n  - {name: d, secret: s, attach: "
		 "bearer, hosts: [b.example], placeholder: {env: [A]}"),
	 "has the variable A already"},
	{"version: 1\ncredentials: [{name: c}]\n",
	 "\"secret\" is missing here"},
	{"version: 1\ncredentials: [{name: c, secret: s, hosts: [a.example], "
	 "attach: basic}]\n",
	 "basic needs a \"username\""},
	{"version: 1\ncredentials: [{name: c, secret: s, hosts: [a.example], "
	 "attach: basic, username: bot}]\n",
	 NULL},
	{"version: 1\ncredentials: [{name: c, secret: s, hosts: [a.example], "
	 "attach: basic, username: 'a:b'}]\n",
	 "holds no ':'"},
	{"version: 1\ncredentials: [{name: c, secret: s, hosts: ['*'], "
	 "attach: bearer}]\n",
	 "does not go to every host"},
	{"version: 1\ncredentials: [{name: c, secret: s, hosts: [], "
	 "attach: bearer}]\n",
	 "needs hosts"},
	{BINDING("") NETWORK("rules: []"), "\"version\" stands here twice"},
	/* a rule's credential */
	{BINDING("") "network: {rules: [{hosts: [a.example], credential: c, "
		     "action: allow}]}\n",
	 NULL},
	{BINDING("") "network: {rules: [{hosts: [b.example], credential: c, "
		     "action: allow}]}\n",
	 "the credential \"c\" is not for the host \"b.example\""},
	{BINDING("") "network: {rules: [{hosts: ['*.a.example'], "
		     "credential: c, action: allow}]}\n",
	 "not for the host \"*.a.example\""},
	{BINDING("") "network: {rules: [{hosts: ['*'], credential: c, "
		     "action: allow}]}\n",
	 "not for the host \"*\""},
	{BINDING("") "network: {rules: [{hosts: [a.example], credential: d, "
		     "action: allow}]}\n",
	 "there is no credential \"d\""},
	{BINDING("") "network: {rules: [{hosts: [a.example], credential: c, "
		     "action: deny}]}\n",
	 "a rule that denies has no credential"},
	{"version: 1\ncredentials: [{name: c, secret: s, attach: bearer, "
	 "hosts: ['*.a.example']}]\nnetwork: {rules: [{hosts: "
	 "[x.a.example, '*.b.a.example'], credential: c, action: allow}]}\n",
	 NULL},
	{"version: 1\ncredentials: [{name: c, secret: s, attach: bearer, "
	 "hosts: ['*.a.example']}]\nnetwork: {rules: [{hosts: "
	 "[a.example], credential: c, action: allow}]}\n",
	 "not for the host \"a.example\""},
	/* tunnel */
	{ALLOW("ports: [443]") "  tls: {tunnel: [a.example]}\n", NULL},
	{ALLOW("paths: [/x]") "  tls: {tunnel: [a.example]}\n",
	 "is in network.tls.tunnel, and this rule needs to look inside"},
	{ALLOW("methods: [GET]") "  tls: {tunnel: ['*.example.net']}\n", NULL},
	{RULE("{hosts: [b.a.example], methods: [GET], action: allow}") "  tls: "
								       "{tunnel"
								       ": "
								       "['*.a."
								       "example"
								       "']}\n",
	 "is in network.tls.tunnel"},
	{RULE("{hosts: ['*.a.example'], methods: [GET], action: deny}") "  "
									"tls: "
									"{tunne"
									"l: "
									"[b.a."
									"exampl"
									"e]}\n",
	 "is in network.tls.tunnel"},
	{RULE("{methods: [POST], action: deny}") "  tls: {tunnel: "
						 "[b.a.example]}\n",
	 NULL},
	{REPO("read: true") "network: {tls: {tunnel: [a.example]}}\n",
	 "a repository needs to look inside"},
	/* addresses */
	{DENY("private, link-local, metadata, loopback, 192.0.2.0/24"), NULL},
	{DENY("privat"), "did you mean \"private\"?"},
	{DENY("'2001:db8::/32', 10.1.2.3"), NULL},
	{DENY("192.0.2.1/24"), "the bits after the prefix must be zero"},
	{DENY("192.0.2.0/33"), "from 0 to 32"},
	{DENY("'2001:db8::/129'"), "from 0 to 128"},
	{DENY("192.0.2.0/"), "from 0 to 32"},
	{DENY("192.0.2/24"), "this is not an address"},
	{EXCEPT("10.2.0.0/16"), NULL},
	{EXCEPT("private"), "this is not an address"},
	{EXCEPT("0x0a.2.0.0/16"), "this is not an address"},
	{NETWORK("addresses: {permit: []}"), "unknown key \"permit\""},
	/* git */
	{REPO("read: true"), NULL},
	{REPO("read: false"), "this opens nothing"},
	{REPO("read: yes"), "this must be true or false"},
	{REPO("read: 'true'"), "this must be true or false"},
	{"version: 1\ngit: [{read: true}]\n", "\"repo\" is missing here"},
	{URL("https://a.example/r"), NULL},
	{URL("https://a.example:8443/o/r.git/"), NULL},
	{URL("https://[::1]:8443/o/r"), NULL},
	{URL("${session.repo}"), NULL},
	{URL("http://a.example/o/r"), "by its https:// URL"},
	{URL("git@github.com:o/r"), "by its https:// URL"},
	{URL("ssh://a.example/o/r"), "by its https:// URL"},
	{URL("HTTPS://a.example/o/r"), "by its https:// URL"},
	{URL("https://a.example"), "names no repository"},
	{URL("https://a.example/"), "names no repository"},
	{URL("https://u:p@a.example/o/r"), "more than host, port and path"},
	{URL("https://a.example/o/r?x"), "more than host, port and path"},
	{URL("https://a.example/o/r#x"), "more than host, port and path"},
	{URL("https://a.example:0/o/r"), "not a port"},
	{URL("https://a.example:65536/o/r"), "not a port"},
	{URL("https://a.example:/o/r"), "not a port"},
	{URL("https://*.a.example/o/r"), "named whole"},
	{URL("https://a.example/o/*"), "named whole"},
	{URL("https://a.example/o//r"), "read in two ways"},
	{URL("https://a.example/o/../r"), "read in two ways"},
	{URL("https://a_b/o/r"), "not a host name"},
	{URL("https://github.com/acme/widgets"), NULL},
	{URL("https://github.com/acme"), "https://github.com/OWNER/NAME"},
	{URL("https://github.com/a/b/c"), "https://github.com/OWNER/NAME"},
	{REPO("read: true}\n  - {read: true, repo: "
	      "'https://A.example/o/r.git'"),
	 "stands here twice"},
	{REPO("read: true}\n  - {read: true, repo: "
	      "'https://A.example/O/r.git'"),
	 NULL},
	{URL("https://github.com/a/b'}\n  - {read: true, repo: "
	     "'https://github.com/A/B"),
	 "stands here twice"},
	{REPO("read: true, credential: c"), "there is no credential \"c\""},
	{BINDING("") "git: [{repo: 'https://a.example/o/r', read: true, "
		     "credential: c}]\n",
	 NULL},
	{BINDING("") "git: [{repo: 'https://b.example/o/r', read: true, "
		     "credential: c}]\n",
	 "not for the host \"b.example\""},
	{REPO("push: {branches: ['${session.branch}', 'wip/*']}"), NULL},
	{REPO("push: {tags: ['v*']}"), NULL},
	{REPO("push: {}"), "without branches or tags"},
	{REPO("push: {branches: []}"), "without branches or tags"},
	{REPO("push: {branches: [refs/heads/x]}"), "without \"refs/heads/\""},
	{REPO("push: {branches: ['a..b']}"), "cannot be the name of a ref"},
	{REPO("push: {branches: [HEAD]}"), "cannot be the name of a ref"},
	{REPO("push: {branches: ['[a-z]']}"), "cannot be the name of a ref"},
	{REPO("push: {branches: ['']}"), "cannot be the name of a ref"},
	{REPO("push: {branches: [x], verbs: [create, rewrite, delete, "
	      "fast-forward]}"),
	 NULL},
	{REPO("push: {branches: [x], verbs: [force]}"), "this must be create"},
	{REPO("push: {branches: [x], verbs: [fastforward]}"),
	 "did you mean \"fast-forward\"?"},
	{REPO("push: {branches: [x], verbs: []}"), "without verbs"},
	{REPO("read: true, push: {branches: [x], protect: [y, 'a/**', "
	      "'**/b']}"),
	 NULL},
	{REPO("push: {branches: [x], protect: [y]}"), "needs \"read: true\""},
	{REPO("read: true, push: {branches: [x], protect: [/y]}"),
	 "from the top"},
	{REPO("read: true, push: {branches: [x], protect: [y/]}"),
	 "from the top"},
	{REPO("read: true, push: {branches: [x], protect: [../y]}"),
	 "from the top"},
	{REPO("read: true, push: {branches: [x], protect: ['']}"),
	 "from the top"},
	{REPO("push: {branches: [x], limits: {pack: 200MiB, objects: 100000, "
	      "file: 50MiB}}"),
	 NULL},
	{REPO("push: {branches: [x], limits: {file: 512MiB}}"), NULL},
	{REPO("push: {branches: [x], limits: {file: 513MiB}}"),
	 "at most 512MiB"},
	{REPO("push: {branches: [x], limits: {objects: 0}}"), "this must be"},
	{REPO("push: {branches: [x], limits: {size: 1MiB}}"), "\"size\""},
	{REPO("push: {branches: [x], secrets: deny}"), NULL},
	{REPO("push: {branches: [x], secrets: allow}"), "this must be deny"},
	/* filesystem */
	{FILES("workspace: {path: ., mode: write}, read: [/usr], "
	       "write: [~/.cache], hide: ['**/.env'], protect: [./x]"),
	 NULL},
	{FILES("workspace: {mode: overlaid}"), "\"overlay\"?"},
	{FILES("workspace: {mode: rw}"), "this must be write, read or overlay"},
	{FILES("ignore-files: [.x]"), NULL},
	{FILES("ignore-files: [a/.x]"), "without a path"},
	{FILES("hide: ['./[a']"), "2:22: \"[\" without \"]\""},
	{FILES("hide: ['./{a,b']"), "a brace without the other"},
	{FILES("protect: ['./a**']"), "\"**\" stands for directories"},
	{FILES("hide: ['./a/../b*']"), "no \"..\" in such a path"},
	{FILES("hide: ['./{a,b}/[!x]?.*', '**/.env']"), NULL},
	{FILES("read: [usr]"), "a path starts with"},
	{FILES("read: [~root/x]"), "a path starts with"},
	{FILES("hide: ['']"), "a path starts with"},
	{FILES("writes: []"), "did you mean \"write\"?"},
	/* environment */
	{ENVIRONMENT("pass: [LANG], set: {CI: 1, EMPTY: ''}"), NULL},
	{ENVIRONMENT("pass: [LA-NG]"), "not the name of a variable"},
	{ENVIRONMENT("set: {1A: x}"), "not the name of a variable"},
	{ENVIRONMENT("set: {A: }"), "\"A\" has no value"},
	{ENVIRONMENT("set: {A: [x]}"), "this must be one value"},
	{ENVIRONMENT("set: {A: '${session.id}'}"), "variables have no"},
	{BINDING(", placeholder: {env: [T]}") "environment: {set: {T: x}}\n",
	 "a credential has this variable"},
	{BINDING(", placeholder: {env: [T]}") "environment: {set: {U: x}}\n",
	 NULL},
};

static void policy_compile_tells_what_is_wrong_and_where(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		size_t count;
		struct policy *policy = policy_try(rows[i].text, &told, &count);

		if (rows[i].told ? !strstr(buf_str(&told), rows[i].told)
				 : !policy) {
			print_error("%s%s", rows[i].text, buf_str(&told));
			wrong++;
		}
		policy_free(policy);
		buf_release(&told);
	}
	assert_int_equal(wrong, 0);
}

static void policy_compile_tells_all_errors_at_once(void **state)
{
	struct buf told;
	size_t count;

	(void)state;
	assert_null(policy_try("version: 3\n"
			       "limits: {memory: much, cpu: x}\n"
			       "zebra: 1\n",
			       &told, &count));
	assert_int_equal(count, 4);
	assert_non_null(strstr(buf_str(&told), "p.yaml:1:10: "));
	assert_non_null(strstr(buf_str(&told), "p.yaml:2:18: "));
	assert_non_null(strstr(buf_str(&told), "p.yaml:2:29: "));
	assert_non_null(strstr(buf_str(&told), "p.yaml:3:1: "));
	buf_release(&told);
}

static void policy_compile_reads_every_section(void **state)
{
	struct policy *policy = policy_of(
		"version: 1\n"
		"name: acme\n"
		"extends: [npm]\n"
		"network:\n"
		"  rules:\n"
		"    - {name: own, hosts: [A.Example., '[::1]'], ports: "
		"[8443],\n"
		"       methods: [GET], paths: ['/%7e/./${session.branch}'],\n"
		"       reason: '${session.id}!', action: allow}\n"
		"    - {action: deny}\n"
		"  tls: {inspect: always, tunnel: [t.example]}\n"
		"  addresses: {deny: [metadata, 192.0.2.0/24],\n"
		"              allow: [10.2.0.0/16, '2001:db8::/32']}\n"
		"credentials:\n"
		"  - {name: c, secret: s, attach: basic, username: bot,\n"
		"     hosts: ['*.a.example', github.com],\n"
		"     placeholder: {env: [TOKEN]}}\n"
		"git:\n"
		"  - {repo: '${session.repo}', credential: c, read: true,\n"
		"     push: {branches: ['${session.branch}']}}\n"
		"filesystem: {workspace: {path: ~/w, mode: read}, read: [],\n"
		"             hide: [~/.ssh]}\n"
		"limits: {memory: 64KiB, processes: 7, time: 90s}\n"
		"environment: {pass: [LANG], set: {CI: '1'}}\n");
	const struct policy_rule *rule = &policy->rules[0];
	const struct policy_repo *repo = &policy->repos[0];
	const struct policy_credential *credential = &policy->credentials[0];

	(void)state;
	assert_true(bytes_is(policy->name, "acme"));
	assert_int_equal(policy->rule_count, 4);
	assert_true(bytes_is(rule->name, "own"));
	assert_true(bytes_is(rule->hosts.items[0], "a.example"));
	assert_true(bytes_is(rule->hosts.items[1], "::1"));
	assert_int_equal(rule->ports[0], 8443);
	assert_true(bytes_is(rule->paths.items[0], "/~/agent/42"));
	assert_true(bytes_is(rule->reason, "s-1!"));
	assert_int_equal(rule->action, POLICY_ALLOW);
	assert_true(bytes_is(policy->rules[1].name, "rules[1]"));
	assert_true(bytes_is(policy->rules[2].name, "npm/read"));
	assert_true(policy->inspect_all);
	assert_true(bytes_is(policy->tunnel.items[0], "t.example"));
	assert_int_equal(policy->addresses.deny_classes, ADDRESS_METADATA);
	assert_int_equal(policy->addresses.deny_count, 1);
	assert_int_equal(policy->addresses.deny[0].prefix, 120);
	assert_int_equal(policy->addresses.allow_count, 2);
	assert_int_equal(policy->addresses.allow[0].prefix, 112);
	assert_int_equal(policy->addresses.allow[0].address[12], 10);
	assert_int_equal(policy->addresses.allow[1].prefix, 32);
	assert_int_equal(credential->attach, ATTACH_BASIC);
	assert_true(bytes_is(credential->username, "bot"));
	assert_true(bytes_is(credential->placeholder_env.items[0], "TOKEN"));
	assert_true(bytes_is(repo->host, "github.com"));
	assert_int_equal(repo->port, 443);
	assert_true(bytes_is(repo->path, "/acme/widgets"));
	assert_true(repo->ignores_case);
	assert_int_equal(repo->verbs, VERB_CREATE | VERB_FAST_FORWARD);
	assert_true(bytes_is(repo->branches.items[0], "agent/42"));
	assert_true(bytes_is(policy->filesystem.workspace, "~/w"));
	assert_int_equal(policy->filesystem.workspace_mode, WORKSPACE_READ);
	assert_true(policy->filesystem.has_read);
	assert_int_equal(policy->limits.memory_bytes, 65536);
	assert_int_equal(policy->limits.processes, 7);
	assert_int_equal(policy->limits.time_ms, 90000);
	assert_true(bytes_is(policy->environment.pass.items[0], "LANG"));
	assert_true(bytes_is(policy->environment.set[0].value, "1"));
	policy_free(policy);
}

static void policy_compile_has_safe_defaults(void **state)
{
	struct policy *policy = policy_of("version: 1\n");

	(void)state;
	assert_int_equal(policy->rule_count, 0);
	assert_int_equal(policy->addresses.deny_classes,
			 ADDRESS_PRIVATE | ADDRESS_LINK_LOCAL |
				 ADDRESS_METADATA | ADDRESS_LOOPBACK);
	assert_true(bytes_is(policy->filesystem.workspace, "."));
	assert_false(policy->filesystem.has_read);
	policy_free(policy);
}

/* ---- variables ---- */

static size_t errors_with(const char *text, const char *branch,
			  const char *repo, struct buf *told)
{
	struct policy_variables variables = {
		.session_id = bytes_str("s-1"),
		.branch = bytes_str(branch),
		.repo = bytes_str(repo),
	};
	struct policy_errors errors = {.out = told, .file = "p.yaml"};

	buf_clear(told);
	policy_free(policy_compile(bytes_str(text), &variables, &errors));
	return errors.count;
}

static void policy_compile_takes_variables_literally(void **state)
{
	static const char branch[] = REPO("push: {branches: "
					  "['${session.branch}']}");
	static const char repo[] = URL("${session.repo}");
	static const struct {
		const char *text, *branch, *repo, *told;
	} variable_rows[] = {
		{branch, "agent/42", "", NULL},
		{branch, "", "",
		 "created without a branch, which the policy "
		 "needs for ${session.branch}"},
		{branch, "agent/*", "", "cannot be taken literally"},
		{branch, "**", "", "cannot be taken literally"},
		{branch, "a..b", "", "is not a branch"},
		{branch, "a b", "", "taken literally: it has a blank"},
		{branch, "HEAD", "", "is not a branch"},
		{branch, "a?", "", "is not a branch"},
		{branch, "ma\xc3\xafn", "", "cannot be taken literally"},
		{branch, "${session.id}", "", NULL}, /* not expanded again */
		{repo, "", "https://a.example/o/r", NULL},
		{repo, "", "",
		 "created without a repository, which the policy "
		 "needs for ${session.repo}"},
		{repo, "", "https://a.example/*", "taken literally"},
		{repo, "", "http://a.example/o/r", "by its https:// URL"},
	};
	struct buf told;

	(void)state;
	buf_init(&told, TOLD_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(variable_rows); i++) {
		size_t count = errors_with(variable_rows[i].text,
					   variable_rows[i].branch,
					   variable_rows[i].repo, &told);

		print_message("%zu: %s\n", i, buf_str(&told));
		assert_int_equal(count > 0, variable_rows[i].told != NULL);
		if (variable_rows[i].told)
			assert_non_null(
				strstr(buf_str(&told), variable_rows[i].told));
	}
	buf_release(&told);
}

static void policy_compile_escapes_variables_in_paths(void **state)
{
	struct policy_variables variables = {.branch = bytes_str("a;%2f#b/c")};
	struct policy_errors errors = {.file = "p.yaml"};
	struct policy *policy = policy_compile(
		bytes_str(ALLOW("paths: ['/x/${session.branch}/y']")),
		&variables, &errors);

	(void)state;
	/* "%2f" in a name is "%252f" in a path, which has two readings. */
	assert_null(policy);
	variables.branch = bytes_str("a;#b/c");
	policy = policy_compile(
		bytes_str(ALLOW("paths: ['/x/${session.branch}/y']")),
		&variables, &errors);
	assert_non_null(policy);
	assert_true(
		bytes_is(policy->rules[0].paths.items[0], "/x/a%3B%23b/c/y"));
	policy_free(policy);
}

static void policy_compile_checks_without_a_session(void **state)
{
	static const char text[] =
		BINDING("") "git: [{repo: '${session.repo}', credential: c,\n"
			    "  push: {branches: ['${session.branch}']}}]\n";
	struct policy_errors errors = {.file = "p.yaml"};
	struct policy *policy = policy_compile(bytes_str(text), NULL, &errors);

	(void)state;
	assert_non_null(policy);
	policy_free(policy);
}

/* ---- bounds ---- */

static void policy_compile_bounds_rules(void **state)
{
	struct policy_errors errors = {.file = "p.yaml"};
	struct policy *policy;
	struct buf text;

	(void)state;
	buf_init(&text, POLICY_TEXT_MAX);
	buf_add_str(&text, "version: 1\nnetwork:\n  rules:\n");
	for (int i = 0; i < POLICY_RULES_MAX; i++)
		buf_add_format(&text,
			       "  - {hosts: [h%d.example], action: allow}\n",
			       i);
	policy = policy_compile(buf_view(&text), NULL, &errors);
	assert_non_null(policy);
	assert_int_equal(policy->rule_count, POLICY_RULES_MAX);
	policy_free(policy);
	buf_add_str(&text, "  - {action: deny}\n");
	assert_null(policy_compile(buf_view(&text), NULL, &errors));
	buf_release(&text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_compile_tells_what_is_wrong_and_where),
		cmocka_unit_test(policy_compile_tells_all_errors_at_once),
		cmocka_unit_test(policy_compile_reads_every_section),
		cmocka_unit_test(policy_compile_has_safe_defaults),
		cmocka_unit_test(policy_compile_takes_variables_literally),
		cmocka_unit_test(policy_compile_escapes_variables_in_paths),
		cmocka_unit_test(policy_compile_checks_without_a_session),
		cmocka_unit_test(policy_compile_bounds_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
