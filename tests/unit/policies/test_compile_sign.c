/* credentials[].scrub, and git[].push.sign, which is not there yet. */
#include "policy_of.h"

#define BINDING(text)                                                          \
	"version: 1\ncredentials:\n"                                           \
	"  - {name: c, secret: s, attach: bearer, hosts: [a.example], " text   \
	"}\n"
#define SIGN(text)                                                             \
	"version: 1\ngit:\n"                                                   \
	"  - {repo: 'https://a.example/o/r', push: {branches: [x], "           \
	"sign: " text "}}\n"

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
	{SIGN("session"), "\"sign\" is not supported yet"},
};

static void policy_compile_tells_what_cannot_be_scrubbed(void **state)
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
		cmocka_unit_test(policy_compile_tells_what_cannot_be_scrubbed),
		cmocka_unit_test(
			policy_compile_knows_what_becomes_of_a_reflection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
