#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/policy.h"
#include "policies/settings/settings.h"

struct made {
	struct buf policy, notes;
	int result;
};

static void translate(const char *text, struct made *made)
{
	static const char *const variables[] = {"CI", "DENIED", "MASKED"};
	const struct settings_facts facts = {
		.file = "s.json",
		.cwd = bytes_str("/home/u/work"),
		.home = bytes_str("/home/u"),
		.variables = variables,
		.variable_count = ARRAY_SIZE(variables),
		.command = "git push origin",
	};

	buf_init(&made->policy, POLICY_TEXT_MAX);
	buf_init(&made->notes, SETTINGS_NOTES_MAX);
	made->result = settings_translate(bytes_str(text), &facts,
					  &made->policy, &made->notes);
}

static void made_release(struct made *made)
{
	buf_release(&made->policy);
	buf_release(&made->notes);
}

/* What was made is a policy. */
static void assert_compiles(struct made *made)
{
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = "p"};

	buf_init(&report, 65536);
	policy_free(policy_compile(buf_view(&made->policy), NULL, &errors));
	if (errors.count > 0)
		fail_msg("%s\n%s", buf_str(&made->policy), buf_str(&report));
}

static bool has(struct buf *buf, const char *text)
{
	return buf_len(buf) > 0 && strstr(buf_str(buf), text);
}

/* ---- what settings become ---- */

#define ALL(network, filesystem, more)                                         \
	"{\"network\": {" network "}, \"filesystem\": {" filesystem "}" more "}"
#define MASKED(DOMAINS, HOSTS)                                                 \
	ALL("\"allowedDomains\": [" DOMAINS "], \"deniedDomains\": []", FILES, \
	    ", \"credentials\": {\"envVars\": [{\"name\": \"MASKED\", "        \
	    "\"mode\": "                                                       \
	    "\"mask\"" HOSTS "}]}")
#define NET   "\"allowedDomains\": [], \"deniedDomains\": []"
#define FILES "\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []"

static const struct {
	const char *settings;
	const char *says[4];
	const char *note; /* NULL: there is none */
} rows[] = {
	{SETTINGS_DEFAULT_TEXT,
	 {"default: deny\n  addresses:", "{path: ., mode: read}",
	  "pass: [\"CI\", \"DENIED\", \"MASKED\"]"},
	 NULL},
	{ALL("\"allowedDomains\": [\"a.example:443\", \"*.b.example:8443\"], "
	     "\"deniedDomains\": [\"x.b.example\", \"*:22\"], "
	     "\"deniedDomainReasons\": {\"*:22\": \"use \\\"https\\\"\"}",
	     FILES, ""),
	 {"hosts: [\"x.b.example\"]\n      ports: [443, 80, 8443, 22]\n"
	  "      action: deny",
	  "hosts: [\"*\"]\n      ports: [22]\n      action: deny\n      "
	  "reason: "
	  "\"use \\\"https\\\"\"",
	  "hosts: [\"a.example\"]\n      ports: [443]\n      action: allow",
	  "hosts: [\"*.b.example\"]\n      ports: [8443]\n      action: "
	  "allow"},
	 NULL},
	{ALL("\"allowedDomains\": [\"a.example\"], \"deniedDomains\": []",
	     FILES, ""),
	 {"hosts: [\"a.example\"]\n      action: allow"},
	 "stricter: an entry without a port opens 443 and 80"},
	{ALL("\"allowedDomains\": [\"127.0.0.1:3000\", \"[::1]:3000\"], "
	     "\"deniedDomains\": [\"10.1.2.3\"], \"deniedResolvedAddresses\": "
	     "[\"10.0.0.0/8\", \"fc00::/7\"]",
	     FILES, ""),
	 {"deny: [link-local, metadata, loopback, \"10.0.0.0/8\", "
	  "\"fc00::/7\", \"10.1.2.3\"]",
	  "allow: [\"127.0.0.1\", \"::1\"]"},
	 NULL},
	{ALL(NET ", \"tlsTerminate\": {\"excludeDomains\": [\"a.example\"]}",
	     FILES, ""),
	 {"tls:\n    inspect: always\n    tunnel: [\"a.example\"]"},
	 NULL},
	{ALL(NET ", \"allowUnixSockets\": [\"/x\"], \"allowLocalBinding\": "
		 "true, \"strictAllowlist\": true",
	     FILES, ""),
	 {"default: deny"},
	 "sockets of the host stay closed"},
	{ALL(NET,
	     "\"denyRead\": [\"~/.ssh\", \"**/.env\", \"x/\"], \"allowWrite\": "
	     "[\".\", \"/srv/**\", \"src/\"], \"denyWrite\": [\".env\", "
	     "\"config/p.json\"]",
	     ""),
	 {"mode: write}\n  write:\n    - \"/srv\"\n    - \"./src\"\n",
	  "hide:\n    - \"~/.ssh\"\n    - \"**/.env\"\n    - \"./x\"\n",
	  "protect:\n    - \"./.env\"\n    - \"./config/p.json\"\n"},
	 NULL},
	{ALL(NET,
	     "\"denyRead\": [], \"allowWrite\": [\"/home/u\"], \"denyWrite\": "
	     "[]",
	     ""),
	 {"mode: write}\n  write:\n    - \"/home/u\"\n"},
	 NULL},
	{ALL(NET,
	     "\"denyRead\": [\"/home\", \"./secrets\"], \"allowRead\": "
	     "[\".\"], "
	     "\"allowWrite\": [\"src\"], \"denyWrite\": []",
	     ""),
	 {"mode: read}\n  read:\n    - \".\"\n  write:\n    - \"./src\"\n  "
	  "hide:\n    - \"./secrets\"\n"},
	 "stricter: with allowRead inside it"},
	{ALL(NET,
	     "\"denyRead\": [\"/x\"], \"allowRead\": [\".\"], \"allowWrite\": "
	     "[\"*.c\"], \"denyWrite\": []",
	     ""),
	 {"mode: read}\n  hide:\n    - \"/x\"\n"},
	 "*.c is skipped"},
	{MASKED("\"a.example:8443\", \"*.b.example:443\"", ""),
	 {"name: masked-0\n      hosts: [\"*.b.example\"]\n      ports: [443]",
	  "secret: \"MASKED\"\n    hosts: [\"*.b.example\"]"},
	 "sallyport secret put MASKED"},
	{MASKED("\"*.c.example\"",
		", \"injectHosts\": [\"a.c.example\", \"*.b.c.example\"]"),
	 {"name: masked-0\n      hosts: [\"a.c.example\", \"*.b.c.example\"]"},
	 "sallyport secret put MASKED"},
	{ALL(NET,
	     "\"denyRead\": [\"/srv\", \"/etc/x\"], \"allowRead\": "
	     "[\"/srv/y\"], \"allowWrite\": [\"/srv/y/z\"], "
	     "\"denyWrite\": []",
	     ""),
	 {"read:\n    - \"/srv/y\"\n", "hide:\n    - \"/etc/x\"\n"},
	 "stricter: with allowRead inside it"},
	{ALL("\"allowedDomains\": [\"a.example:443\"], \"deniedDomains\": []",
	     FILES,
	     ", \"credentials\": {\"envVars\": [{\"name\": \"DENIED\", "
	     "\"mode\": \"deny\"}, {\"name\": \"MASKED\", \"mode\": \"mask\", "
	     "\"injectHosts\": [\"a.example\"]}], \"files\": [{\"path\": "
	     "\"~/.netrc\", \"mode\": \"deny\"}]}"),
	 {"name: masked-1\n      hosts: [\"a.example\"]\n      ports: [443]\n  "
	  "    credential: masked-1",
	  "attach: placeholder\n    secret: \"MASKED\"\n    hosts: "
	  "[\"a.example\"]\n    placeholder: {env: [\"MASKED\"]",
	  "hide:\n    - \"~/.netrc\"", "pass: [\"CI\"]"},
	 "sallyport secret put MASKED"},
	{ALL(NET, FILES,
	     ", \"enableWeakerNestedSandbox\": false, \"ignoreViolations\": "
	     "{\"*\": [\"/x\"], \"git push\": [\"/y z\"], \"npm\": "
	     "[\"/z\"]}, \"mandatoryDenySearchDepth\": 5"),
	 {"ignore-violations:\n  - \"/x\"\n  - \"/y z\"\n"},
	 "at every depth"},
	{ALL(NET, FILES, ", \"ignoreViolations\": {\"push\": [\"a*b\"]}"),
	 {"ignore-violations:\n  - \"a*b\"\n"},
	 "stands for any text"},
};

static void settings_become_a_policy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(made_release) struct made made;

		translate(rows[i].settings, &made);
		if (made.result < 0)
			fail_msg("%s\n%s", rows[i].settings,
				 buf_str(&made.notes));
		for (size_t j = 0; j < 4 && rows[i].says[j]; j++)
			if (!has(&made.policy, rows[i].says[j]))
				fail_msg("%s\nis not in\n%s", rows[i].says[j],
					 buf_str(&made.policy));
		if (rows[i].note ? !has(&made.notes, rows[i].note)
				 : buf_len(&made.notes) > 0)
			fail_msg("%s\n%s", rows[i].settings,
				 buf_len(&made.notes) ? buf_str(&made.notes)
						      : "no notes");
		assert_compiles(&made);
	}
}

/* ---- what is refused ---- */

static const struct {
	const char *settings, *error;
} wrongs[] = {
	{"", "s.json: 1:"},
	{ALL(NET, FILES, ", \"ignoreViolations\": {\"*\": \"/x\"}"),
	 "ignoreViolations.*: this must be a list of strings"},
	{ALL(NET, FILES, ", \"ignoreViolations\": {\"npm\": [1]}"),
	 "ignoreViolations.npm: this must be a list of strings"},
	{ALL(NET, FILES, ", \"ignoreViolations\": {\"*\": [\"\"]}"),
	 "would hide every violation"},
	/* What srt denies would stay readable. */
	{ALL(NET,
	     "\"denyRead\": [\"/etc\"], \"allowRead\": [\"/etc/ssl\"], "
	     "\"allowWrite\": [], \"denyWrite\": []",
	     ""),
	 "\"/etc\" cannot be enforced"},
	{ALL(NET,
	     "\"denyRead\": [\".\"], \"allowRead\": [\"./src\"], "
	     "\"allowWrite\": [], \"denyWrite\": []",
	     ""),
	 "\".\" cannot be enforced"},
	{ALL(NET,
	     "\"denyRead\": [\"/srv/x\"], \"allowRead\": [\"/srv/x/y\"], "
	     "\"allowWrite\": [\"/srv\"], \"denyWrite\": []",
	     ""),
	 "\"/srv/x\" cannot be enforced"},
	/* A masked variable opens nothing. */
	{MASKED("\"a.example\"", ", \"injectHosts\": [\"evil.example\"]"),
	 "injectHosts: \"evil.example\" is not one of allowedDomains"},
	{MASKED("\"a.example:8443\"", ", \"injectHosts\": [\"a.example\"]"),
	 "injectHosts: \"a.example\" is not one of allowedDomains"},
	{MASKED("\"a.example\"", ", \"injectHosts\": [\"a.example:8443\"]"),
	 "injectHosts: \"a.example:8443\" is not one of allowedDomains"},
	{MASKED("\"*.example\"", ", \"injectHosts\": [\"example\"]"),
	 "injectHosts: \"example\" is not one of allowedDomains"},
	{MASKED("\"a.example:8443\"", ""),
	 "no host of allowedDomains has port 443"},
	{"{", "s.json: 1:"},
	{"[]", "s.json: this must be an object"},
	{"{}", "\"network\" is missing here"},
	{"{\"network\": {\"x\": 1}}", "network: unknown key \"x\""},
	{"{\"filesystem\": {\"x\": 1}}", "filesystem: unknown key \"x\""},
	{"{\"credentials\": {\"x\": 1}}", "credentials: unknown key \"x\""},
	{"{\"network\": {}, \"network\": {}}", "duplicate"},
	{ALL(NET, FILES, ", \"netwrok\": {}"), "unknown key \"netwrok\""},
	{ALL(NET ", \"x\": 1", FILES, ""), "network: unknown key \"x\""},
	{ALL(NET, FILES ", \"x\": 1", ""), "filesystem: unknown key \"x\""},
	{ALL("\"allowedDomains\": []", FILES, ""),
	 "network: \"deniedDomains\" is missing"},
	{ALL("\"allowedDomains\": \"a\", \"deniedDomains\": []", FILES, ""),
	 "network.allowedDomains: this must be a list of strings"},
	{ALL("\"allowedDomains\": [\"*\"], \"deniedDomains\": []", FILES, ""),
	 "\"*\" is no domain"},
	{ALL("\"allowedDomains\": [1], \"deniedDomains\": []", FILES, ""),
	 "\"\" is no domain"},
	{ALL("\"allowedDomains\": [\"::1\"], \"deniedDomains\": []", FILES, ""),
	 "\"::1\" is no domain"},
	{ALL("\"allowedDomains\": [\"a.b:0\"], \"deniedDomains\": []", FILES,
	     ""),
	 "\"a.b:0\" is no domain"},
	{ALL(NET ", \"httpProxyPort\": 3128", FILES, ""),
	 "network.httpProxyPort: the gateway is the proxy"},
	{ALL(NET ", \"parentProxy\": {\"http\": \"http://x\"}", FILES, ""),
	 "set upstream_proxy"},
	{ALL(NET ", \"tlsTerminate\": {\"caCertPath\": \"/x\"}", FILES, ""),
	 "the gateway has a CA of its own"},
	{ALL(NET, FILES, ", \"enableWeakerNestedSandbox\": true"),
	 "there is no weaker sandbox"},
	{ALL(NET, FILES, ", \"enableWeakerNestedSandbox\": 1"),
	 "this must be true or false"},
	{ALL(NET, FILES ", \"disabled\": true", ""),
	 "files are always confined"},
	{ALL(NET,
	     "\"denyRead\": [\"/x?\"], \"allowWrite\": [], \"denyWrite\": []",
	     ""),
	 "\"/x?\" cannot be enforced"},
	{ALL(NET, "\"denyRead\": [\"\"], \"allowWrite\": [], \"denyWrite\": []",
	     ""),
	 "a path is empty"},
	{ALL(NET,
	     "\"denyRead\": [\"~root/x\"], \"allowWrite\": [], \"denyWrite\": "
	     "[]",
	     ""),
	 "homes of others are not known"},
	{ALL(NET,
	     "\"denyRead\": [\"/a\\u0001\"], \"allowWrite\": [], "
	     "\"denyWrite\": []",
	     ""),
	 "a control character"},
	{ALL(NET, FILES, ", \"credentials\": {\"allowPlaintextInject\": true}"),
	 "never travels in the clear"},
	{ALL(NET, FILES,
	     ", \"credentials\": {\"envVars\": [{\"name\": \"A\", \"mode\": "
	     "\"mask\", \"extract\": \"(x)\"}]}"),
	 "credentials.envVars[0].extract: only whole values"},
	{ALL(NET, FILES,
	     ", \"credentials\": {\"envVars\": [{\"name\": "
	     "\"A\"}]}"),
	 "credentials.envVars[0]: \"mode\" is missing"},
	{ALL(NET, FILES,
	     ", \"credentials\": {\"files\": [{\"path\": \"/x\", \"mode\": "
	     "\"hide\"}]}"),
	 "a mode is \"deny\" or \"mask\""},
	{ALL(NET, FILES, ", \"credentials\": {\"files\": [1]}"),
	 "credentials.files[0]: this must be an object"},
};

static void what_is_wrong_or_weaker_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
		auto_type(made_release) struct made made;

		translate(wrongs[i].settings, &made);
		if (made.result == 0 || !has(&made.notes, wrongs[i].error))
			fail_msg("%s\n%s", wrongs[i].settings,
				 buf_len(&made.notes) ? buf_str(&made.notes)
						      : "no error");
	}
}

/* ---- lines of a control channel ---- */

#define FIRST                                                                  \
	ALL("\"allowedDomains\": [\"one.example\"], \"deniedDomains\": []",    \
	    "\"denyRead\": [\"/srv/x\"], \"allowWrite\": [\".\"], "            \
	    "\"denyWrite\": []",                                               \
	    "")

static int follow(const char *line, struct made *made)
{
	const struct settings_facts facts = {
		.file = "line",
		.cwd = bytes_str("/home/u/work"),
		.home = bytes_str("/home/u"),
	};

	buf_init(&made->policy, POLICY_TEXT_MAX);
	buf_init(&made->notes, SETTINGS_NOTES_MAX);
	return settings_follow(bytes_str(FIRST), bytes_str(line), &facts,
			       &made->policy, &made->notes);
}

static void a_line_changes_domains_and_nothing_else(void **state)
{
	auto_type(made_release) struct made made;
	const char *line =
		ALL("\"allowedDomains\": [\"two.example\"], "
		    "\"deniedDomains\": [\"three.example\"]",
		    "\"denyRead\": [\"/srv/y\"], \"allowWrite\": [], "
		    "\"denyWrite\": []",
		    ", \"ignoreViolations\": {\"*\": [\"/x\"]}");

	(void)state;
	assert_int_equal(follow(line, &made), 0);
	assert_true(has(&made.policy, "two.example"));
	assert_true(has(&made.policy, "three.example"));
	assert_true(has(&made.policy, "/srv/x"));
	assert_false(has(&made.policy, "one.example"));
	assert_false(has(&made.policy, "/srv/y"));
	assert_false(has(&made.policy, "ignore-violations"));
	assert_compiles(&made);
}

static void a_line_that_is_wrong_becomes_nothing(void **state)
{
	static const char *const lines[] = {
		"",
		"{}",
		"[]",
		"{\"network\": {\"allowedDomains\": []}}",
		ALL("\"allowedDomains\": \"a\", \"deniedDomains\": []", FILES,
		    ""),
		ALL(NET, FILES, ", \"unknown\": 1"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		auto_type(made_release) struct made made;

		if (follow(lines[i], &made) == 0)
			fail_msg("%s", lines[i]);
		assert_true(buf_len(&made.notes) > 0);
		assert_int_equal(buf_len(&made.policy), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_become_a_policy),
		cmocka_unit_test(what_is_wrong_or_weaker_is_told),
		cmocka_unit_test(a_line_changes_domains_and_nothing_else),
		cmocka_unit_test(a_line_that_is_wrong_becomes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
