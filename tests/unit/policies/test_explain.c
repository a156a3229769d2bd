#include "policies/explain.h"
#include "policies/guardrail.h"
#include "tests/unit/policies/policy_of.h"

static void assert_says(const char *text, const char *const *words,
			const char *const *not_words)
{
	struct policy *policy = policy_of(text);
	auto_type(buf_release) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(policy_explain(policy, &out), 0);
	for (; words && *words; words++)
		if (!strstr(buf_str(&out), *words))
			fail_msg("\"%s\" is not in:\n%s", *words,
				 buf_str(&out));
	for (; not_words && *not_words; not_words++)
		if (strstr(buf_str(&out), *not_words))
			fail_msg("\"%s\" is in:\n%s", *not_words,
				 buf_str(&out));
	policy_free(policy);
}

static void a_policy_without_network_says_so(void **state)
{
	static const char *const words[] = {
		"policy small", "Nothing can be reached.",
		"The workspace is `.`; you may read and write it.",
		"http://sallyport.internal/denials", NULL};
	static const char *const not_words[] = {
		"## Credentials", "## Git", "## Limits", "/proposals", NULL};

	(void)state;
	assert_says("version: 1\nname: small\n", words, not_words);
}

static void every_section_has_its_words(void **state)
{
	static const char text[] =
		"version: 1\n"
		"name: acme\n"
		"network:\n"
		"  rules:\n"
		"    - {name: read, hosts: [api.github.com], methods: [GET, "
		"HEAD], paths: [\"/a/**\"], credential: gh, action: allow}\n"
		"    - {name: odd, hosts: [b.example], ports: [8443, 9443], "
		"action: allow}\n"
		"    - {name: never, methods: [POST], action: deny, reason: "
		"\"no writes\"}\n"
		"  tls: {tunnel: [pinned.example]}\n"
		"credentials:\n"
		"  - {name: gh, secret: the-vaults-own-name, attach: bearer, "
		"hosts: [api.github.com, github.com], placeholder: {env: "
		"[GH_TOKEN]}}\n"
		"  - {name: own, secret: s, attach: placeholder, hosts: "
		"[b.example], placeholder: {text: MY_OWN_KEY, in: [body]}}\n"
		"git:\n"
		"  - repo: https://github.com/acme/widgets\n"
		"    credential: gh\n"
		"    read: true\n"
		"    push: {branches: [\"${session.branch}\"], verbs: [create, "
		"fast-forward], tags: [\"v*\"], limits: {pack: 2MiB, file: "
		"64KiB, objects: 300}}\n"
		"  - {repo: \"https://github.com/acme/docs\", read: true}\n"
		"filesystem: {workspace: {path: ., mode: read}, write: "
		"[\"~/.cache\"], hide: [\"~/.ssh\"], protect: [\"./x\"]}\n"
		"limits: {memory: 4GiB, processes: 512, time: 2h}\n"
		"environment: {pass: [LANG], set: {CI: \"sekrit\"}}\n";
	static const char *const words[] = {
		"Allowed (rule `read`): `GET` and `HEAD` on `api.github.com`, "
		"paths `/a/**`, with credential `gh`",
		"any method on `b.example` port 8443, 9443",
		"Refused (rule `never`): `POST` on every host: no writes",
		"What no rule names is refused.",
		"passed on unread: `pinned.example`.",
		"`gh`: added to requests for `api.github.com` and `github.com`",
		"a stand-in without worth is in `GH_TOKEN`",
		"a stand-in without worth is `MY_OWN_KEY`, and may be sent in "
		"the body",
		"https://github.com/acme/widgets: clone and fetch; push "
		"(create, fast-forward) to branches `agent/42` and tags `v*` "
		"alone.",
		"  - At most: a pack of 2 MiB, files of 64 KiB, 300 objects.\n",
		"https://github.com/acme/docs: clone and fetch; no push.",
		"you may only read it",
		"You may also write to `~/.cache`.",
		"Hidden: `~/.ssh`.",
		"Never writable: `./x`.",
		"What acts outside of the sandbox is never writable: hooks",
		"Memory: 4 GiB",
		"Processes: 512",
		"Time: 2 h",
		"Passed in: `LANG`.",
		"Never passed in: what is called as credentials are",
		"Set: `CI`",
		NULL,
	};
	/* Neither a secret's name nor a value is for whoever is inside. */
	static const char *const not_words[] = {"the-vaults-own-name", "sekrit",
						NULL};

	(void)state;
	assert_says(text, words, not_words);
}

static void rules_are_told_with_their_conditions(void **state)
{
	static const char text[] =
		"version: 1\n"
		"network:\n"
		"  default: ask\n"
		"  rules:\n"
		"    - {name: page, hosts: [a.example], query: {per_page: "
		"\"[0-9]+\"}, headers: {accept: \"application/.*\"}, action: "
		"allow}\n"
		"    - {name: release, hosts: [b.example], action: ask, hold: "
		"2m, reason: \"tell us why\"}\n";
	static const char *const words[] = {
		"the query's `per_page` must be `[0-9]+`",
		"the header `accept` must be `application/.*`",
		"A person is asked (rule `release`): any method on "
		"`b.example`, who has 2 min to answer: tell us why",
		"For what no rule names, a person is asked.",
		"POST http://sallyport.internal/proposals",
		NULL,
	};

	(void)state;
	assert_says(text, words, NULL);
}

static void explanations_know_their_bound(void **state)
{
	struct policy *policy = policy_of("version: 1\nname: small\n");
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 100);
	assert_int_equal(policy_explain(policy, &out), -1);
	policy_free(policy);
}

static void many_rules_are_told_in_part(void **state)
{
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf out;
	struct policy *policy;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_init(&out, 1 << 20);
	(void)buf_add_str(&text,
			  "version: 1\nname: many\nnetwork:\n  rules:\n");
	for (int i = 0; i < 6000; i++)
		(void)buf_add_format(&text,
				     "    - {hosts: [h%d.example], action: "
				     "allow}\n",
				     i);
	policy = policy_of(buf_str(&text));
	assert_int_equal(policy_explain(policy, &out), 0);
	assert_non_null(strstr(buf_str(&out), " more rules.\n"));
	assert_true(buf_len(&out) < EXPLAIN_RULES_BYTES + 8192);
	policy_free(policy);
}

static void what_the_guardrail_lets_pass_is_told_beside_it(void **state)
{
	static const char own[] = "version: 1\nname: own\n";
	static const char guardrail[] =
		"version: 1\nnetwork:\n  rules:\n    - {name: no-writes, "
		"methods: [POST], action: deny}\ngit:\n  - {repo: "
		"\"https://git.example/o/r\", read: true}\n";
	auto_type(buf_release) struct buf out;
	struct policy_errors errors = {.file = "g.yaml"};

	(void)state;
	buf_init(&out, 1 << 20);
	for (int narrowed = 0; narrowed < 2; narrowed++) {
		struct policy *policy = guarded_compile(
			bytes_str(own), bytes_str(narrowed ? guardrail : NULL),
			NULL, &errors);

		assert_non_null(policy);
		buf_clear(&out);
		assert_int_equal(policy_explain(policy, &out), 0);
		assert_int_equal(strstr(buf_str(&out), "## Guardrail") != NULL,
				 narrowed);
		assert_int_equal(strstr(buf_str(&out), "guardrail/no-writes") !=
					 NULL,
				 narrowed);
		assert_int_equal(strstr(buf_str(&out),
					"https://git.example/o/r: clone and "
					"fetch; no push.") != NULL,
				 narrowed);
		policy_free(policy);
	}
}

static void commands_have_their_words(void **state)
{
	static const char *const words[] = {
		"## Commands",
		"A person is asked about what writes",
		"- Allowed, whatever they do: `git`, `npm run`.",
		"- Never: `sudo`.",
		"- Who asks a person waits at most 1 min, and can run",
		"- At most 200 commands within 1 h.",
		"- High risk: `rm -r`, `sudo`",
		NULL};
	static const char *const only[] = {"Run only what reads", NULL};
	static const char *const listed[] = {
		"Nothing runs but what is allowed by name.", NULL};
	static const char *const full[] = {
		"What cannot be undone or told apart is\n  refused", NULL};
	static const char *const none[] = {"## Commands", NULL};
	static const char *const never[] = {"Allowed, whatever",
					    "Who asks a person", NULL};

	(void)state;
	assert_says("version: 1\ncommands: {allow: [git, npm run], deny: "
		    "[sudo], hold: 60s, actions: 200/1h}\n",
		    words, NULL);
	assert_says("version: 1\ncommands: {autonomy: read-only, allow: "
		    "[git]}\n",
		    only, never);
	assert_says("version: 1\ncommands: {allow: [git], deny: ['*']}\n",
		    listed, NULL);
	assert_says("version: 1\ncommands: {autonomy: full}\n", full, never);
	assert_says("version: 1\n", NULL, none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_without_network_says_so),
		cmocka_unit_test(commands_have_their_words),
		cmocka_unit_test(every_section_has_its_words),
		cmocka_unit_test(rules_are_told_with_their_conditions),
		cmocka_unit_test(explanations_know_their_bound),
		cmocka_unit_test(many_rules_are_told_in_part),
		cmocka_unit_test(
			what_the_guardrail_lets_pass_is_told_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
