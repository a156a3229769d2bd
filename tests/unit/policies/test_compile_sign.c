/* git[].push.sign and credentials[].scrub. */
#include "policies/explain.h"
#include "policies/guardrail.h"
#include "policy_of.h"

#define BINDING(text)                                                          \
	"version: 1\ncredentials:\n"                                           \
	"  - {name: c, secret: s, attach: bearer, hosts: [a.example], " text   \
	"}\n"
#define REPO(name, text)                                                       \
	"  - {repo: 'https://a.example/o/" name "', push: {branches: [x], "    \
	"sign: " text "}}\n"
#define SIGN(text) "version: 1\ngit:\n" REPO("r", text)

static const struct row {
	const char *text;
	const char *told; /* NULL: it is right */
} rows[] = {
	{BINDING("scrub: true"), NULL},
	{BINDING("scrub: false"), NULL},
	{BINDING("scrub: {on-reflection: stop}"), NULL},
	{BINDING("scrub: {on-reflection: pass}"), "did you mean \"mask\""},
	{BINDING("scrub: {}"), "\"on-reflection\" is missing here"},
	{BINDING("scrub: mask"), "true or false"},
	{SIGN("session"), NULL},
	{SIGN("always"), "this must be session"},
	{SIGN("{key: k, author: A B <a@b>}"), NULL},
	{SIGN("{key: k, author: A B}"), "an author is"},
	{SIGN("{key: k, author: A<a@b>}"), "an author is"},
	{SIGN("{key: k, author: ' A <a@b>'}"), "an author is"},
	{SIGN("{key: k, author: A <a b>}"), "an author is"},
	{SIGN("{key: k, author: A <a@b> c}"), "an author is"},
	{SIGN("{key: k, author: 'A > B <a@b>'}"), "an author is"},
	{SIGN("{author: A <a@b>}"), "\"key\" is missing here"},
	{SIGN("{key: k}") REPO("s", "{key: k}"), NULL},
	{SIGN("session") REPO("s", "{key: k}"), "another key or author"},
	{BINDING("") "git:\n" REPO("r", "{key: s}"),
	 "is a credential's secret as well"},
	{BINDING("") "git:\n" REPO("r", "{key: t}"), NULL},
	{SIGN("{key: k}") REPO("s", "{key: k, author: A <a@b>}"),
	 "another key or author"},
};

static void policy_compile_tells_what_cannot_be_signed_or_scrubbed(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf told;
		struct policy *policy = policy_try(rows[i].text, &told, NULL);

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

static void policy_compile_knows_whose_commits_are_signed(void **state)
{
	static const struct {
		const char *sign, *secret, *name, *email;
	} authors[] = {
		{"session", "", "sallyport", "s-1@sallyport.internal"},
		{"{key: session}", "", "sallyport", "s-1@sallyport.internal"},
		{"{key: k}", "k", "sallyport", "s-1@sallyport.internal"},
		{"{key: k, author: 'A B <${session.id}@b.example>'}", "k",
		 "A B", "s-1@b.example"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(authors); i++) {
		char text[512];
		struct policy *policy;

		(void)snprintf(text, sizeof(text),
			       "version: 1\ngit:\n" REPO("r", "%s"),
			       authors[i].sign);
		policy = policy_of(text);
		assert_true(policy->sign.is_on);
		assert_true(bytes_is(policy->sign.secret, authors[i].secret));
		assert_true(bytes_is(policy->sign.name, authors[i].name));
		assert_true(bytes_is(policy->sign.email, authors[i].email));
		policy_free(policy);
	}
}

static void a_lease_without_a_push_has_nothing_signed(void **state)
{
	static const char text[] =
		"version: 1\ngit:\n"
		"  - {repo: '${session.repo}', read: true, push: {branches: "
		"['**'], sign: session}}\n";
	static const struct {
		const char *permissions;
		bool is_on;
	} leases[] = {
		{"", true},
		{"push:agent/42", true},
		{"read:repo", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(leases); i++) {
		struct policy_variables variables = test_variables;
		struct policy_errors errors = {.file = "p.yaml"};
		struct policy *policy;

		variables.permissions = bytes_str(leases[i].permissions);
		policy = policy_compile(bytes_str(text), &variables, &errors);
		assert_non_null(policy);
		assert_int_equal(policy->sign.is_on, leases[i].is_on);
		policy_free(policy);
	}
}

static void a_guardrail_signs_nothing(void **state)
{
	struct buf told;
	struct policy_errors errors = {.out = &told, .file = "g.yaml"};

	(void)state;
	buf_init(&told, TOLD_MAX);
	assert_null(guardrail_compile(bytes_str(SIGN("session")),
				      &test_variables, &errors));
	assert_non_null(strstr(buf_str(&told), "a guardrail has no \"sign\""));
	buf_release(&told);
}

/* Tags that the session could push to a repository that signs. */
static void a_tag_is_signed_where_it_may_be_pushed(void **state)
{
	static const char text[] =
		"version: 1\ngit:\n"
		"  - {repo: 'https://a.example/o/r', push: {tags: ['v*'], "
		"sign: "
		"session}}\n"
		"  - {repo: 'https://a.example/o/s', push: {tags: ['w*']}}\n";
	static const struct {
		struct bytes tag;
		bool is_allowed;
	} tags[] = {
		{BYTES_LITERAL("v1"), true},	{BYTES_LITERAL("w1"), false},
		{BYTES_LITERAL("x"), false},	{BYTES_LITERAL(""), false},
		{BYTES_LITERAL("v1\0"), false}, {BYTES_LITERAL("v..1"), false},
	};
	struct policy *policy = policy_of(text);
	struct policy *guardrail = NULL;
	struct policy_errors errors = {.file = "g.yaml"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		assert_int_equal(sign_allows_tag(policy, tags[i].tag),
				 tags[i].is_allowed);
	guardrail = guardrail_compile(
		bytes_str("version: 1\ngit:\n"
			  "  - {repo: 'https://a.example/o/r', push: {tags: "
			  "['v2']}}\n"),
		&test_variables, &errors);
	assert_int_equal(policy_guard(policy, guardrail), 0);
	assert_false(sign_allows_tag(policy, bytes_str("v1")));
	assert_true(sign_allows_tag(policy, bytes_str("v2")));
	policy_free(policy);
}

static void policy_explain_says_whose_commits_are_signed(void **state)
{
	struct policy *policy = policy_of(SIGN("{key: k, author: A B <a@b>}"));
	struct buf words;

	(void)state;
	buf_init(&words, TOLD_MAX);
	assert_int_equal(policy_explain(policy, &words), 0);
	assert_non_null(strstr(buf_str(&words), "must be `A B <a@b>`"));
	buf_release(&words);
	policy_free(policy);
}

static void policy_compile_knows_what_becomes_of_a_reflection(void **state)
{
	static const struct {
		const char *text;
		enum policy_scrub scrub;
	} kinds[] = {
		{BINDING("scrub: false"), SCRUB_CUT},
		{BINDING("scrub: true"), SCRUB_MASK},
		{BINDING("scrub: {on-reflection: cut}"), SCRUB_CUT},
		{BINDING("scrub: {on-reflection: mask}"), SCRUB_MASK},
		{BINDING("scrub: {on-reflection: stop}"), SCRUB_STOP},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct policy *policy = policy_of(kinds[i].text);

		assert_int_equal(policy->credentials[0].scrub, kinds[i].scrub);
		policy_free(policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			policy_compile_tells_what_cannot_be_signed_or_scrubbed),
		cmocka_unit_test(policy_compile_knows_whose_commits_are_signed),
		cmocka_unit_test(a_lease_without_a_push_has_nothing_signed),
		cmocka_unit_test(a_guardrail_signs_nothing),
		cmocka_unit_test(a_tag_is_signed_where_it_may_be_pushed),
		cmocka_unit_test(policy_explain_says_whose_commits_are_signed),
		cmocka_unit_test(
			policy_compile_knows_what_becomes_of_a_reflection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
