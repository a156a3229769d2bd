/* credentials[]: attach, its bounds, and placeholder. */
#include "policy_of.h"

#define ENTRY(name, text)                                                      \
	"  - {name: " name ", secret: s, hosts: [a.example], " text "}\n"
#define BINDING(text) "version: 1\ncredentials:\n" ENTRY("c", text)
#define AWS(host, text)                                                        \
	"version: 1\ncredentials: [{name: c, secret: s, attach: sigv4, "       \
	"hosts: [" host "]" text "}]\n"
#define HEADER(text) BINDING("attach: header, header: {" text "}")
#define BEARER(text) BINDING("attach: bearer, " text)
#define TWO(one, two)                                                          \
	"version: 1\ncredentials:\n" ENTRY("c", "attach: bearer" one)          \
		ENTRY("d", "attach: bearer" two)
#define NAMES(name)                                                            \
	"    - {hosts: [a.example], paths: [/" name "], credential: " name     \
	", action: allow}\n"
#define RULES "network:\n  rules:\n"
#define GIT                                                                    \
	"git: [{repo: 'https://a.example/o/r', read: true, credential: c}]\n"

static const struct row {
	const char *text;
	const char *told; /* NULL: it is right */
} rows[] = {
	{HEADER("name: X-Api-Key"), NULL},
	{HEADER("name: Authorization, format: 'token %s'"), NULL},
	{HEADER("name: X-Api-Key, format: token"), "one %s in it"},
	{HEADER("name: X-Api-Key, format: '%s%s'"), "one %s in it"},
	{HEADER("name: X-Api-Key, format: '100% %s'"), "one %s in it"},
	{HEADER("name: X-Api-Key, form: '%s'"), "did you mean \"format\""},
	{HEADER("format: '%s'"), "\"name\" is missing here"},
	{HEADER("name: 'X Api'"), "without blanks"},
	{HEADER("name: 'X:Api'"), "no header's name"},
	{HEADER("name: Host"), "p.yaml:3:77: this header belongs to the conn"},
	{HEADER("name: content_length"), "belongs to the connection"},
	{HEADER("name: Proxy-Authorization"), "belongs to the connection"},
	{HEADER("name: Sec-WebSocket-Key"), "the gateway's own"},
	{HEADER("name: X-HTTP-Method-Override"), "another request"},
	{HEADER("name: Forwarded"), "another request"},
	{BINDING("attach: header"), "header needs a \"header\""},
	{BEARER("header: {name: X}"), "only header takes a \"header\""},
	{BINDING("attach: query, query: {name: key}"), NULL},
	{BINDING("attach: query"), "query needs a \"query\""},
	{BINDING("attach: query, query: {name: 'a b'}"), "without blanks"},
	{BEARER("query: {name: key}"), "only query takes a \"query\""},
	{AWS("sqs.eu-central-1.amazonaws.com", ""), NULL},
	{AWS("a.example", ""), "does not say for which service and region"},
	{AWS("a.example", ", sigv4: {region: r}"), "does not say for which"},
	{AWS("a.example", ", sigv4: {region: r, service: s3}"), NULL},
	{AWS("\"*.amazonaws.com\"", ""), "does not say for which"},
	{AWS("s3.amazonaws.com", ", sigv4: {payload: unsigned}"), NULL},
	{AWS("s3.amazonaws.com", ", sigv4: {payload: no}"), "signed"},
	{BEARER("sigv4: {region: r}"), "only sigv4 takes a \"sigv4\""},
	{BINDING("attach: placeholder"), "\"placeholder\" is missing here"},
	{BINDING("attach: placeholder, placeholder: {env: [T]}"), NULL},
	{BEARER("placeholder: {env: [T], shape: npm}"), NULL},
	{BINDING("attach: placeholder, placeholder: {text: my-own_1.x}"), NULL},
	{BEARER("placeholder: {text: my-own_1.x, in: [query, body]}"), NULL},
	{BEARER("placeholder: {text: my-own_1.x, env: [T]}"), "no variables"},
	{BEARER("placeholder: {text: my-own_1.x, shape: jwt}"), "no shape"},
	{BEARER("placeholder: {text: seven-7}"), "8 to 128 letters"},
	{BEARER("placeholder: {text: 'my own one'}"), "digits"},
	{BEARER("placeholder: {text: '{{MINE}}'}"), "digits"},
	{BEARER("placeholder: {text: ceholder_}"), "begin so"},
	{BEARER("placeholder: {text: ceholder_1}"), NULL},
	{BEARER("placeholder: {env: [T], shape: aws}"), "sigv4 alone"},
	{BEARER("placeholder: {env: [T], shape: gitlab}"), "did you mean"},
	{BEARER("placeholder: {env: [T], in: [query, body]}"), NULL},
	{BEARER("placeholder: {env: [T], in: []}"), "say where"},
	{BEARER("placeholder: {env: [T], in: [cookie]}"), "this must be"},
	{AWS("s3.amazonaws.com", ", placeholder: {env: [A, B]}"), NULL},
	{AWS("s3.amazonaws.com", ", placeholder: {env: [A]}"), "two variables"},
	{AWS("s3.amazonaws.com", ", placeholder: {text: my-own_1.x}"),
	 "never sent"},
	{AWS("s3.amazonaws.com", ", placeholder: {env: [A, B], in: [query]}"),
	 "never sent"},
	{AWS("s3.amazonaws.com", ", placeholder: {env: [A, B], shape: jwt}"),
	 "sigv4 alone"},
	{BEARER("ports: [8443], methods: [GET], paths: ['/v1/**']"), NULL},
	{BEARER("ports: []"), "an empty list"},
	{BEARER("methods: [get]"), "did you mean \"GET\""},
	{BEARER("paths: ['/../x']"), "two ways"},
	/* two of them */
	{TWO("", ""), "p.yaml:4:33: one request could be of both \"c\" and"},
	{TWO("", ", ports: [8443]"), "one request could be of both"},
	{TWO(", ports: [443]", ", ports: [8443]"), NULL},
	{TWO(", methods: [GET]", ", methods: [POST, GET]"), "of both"},
	{TWO(", methods: [GET]", ", methods: [POST]"), NULL},
	{TWO(", paths: ['/a/**']", ", paths: ['/a/b']"), "of both"},
	{TWO(", paths: ['/a/*/x']", ", paths: ['/a/**']"), "of both"},
	{TWO(", paths: ['/a/**']", ", paths: ['/b/**']"), NULL},
	{TWO(", paths: ['/**.x']", ", paths: ['/**.y']"), NULL},
	{TWO("", "") RULES NAMES("c"), "of both"},
	{TWO("", "") RULES NAMES("c") NAMES("d"), NULL},
	{TWO("", "") RULES NAMES("d") GIT, NULL},
	{TWO(", paths: ['/a/**'], placeholder: {text: my-own_1.x}",
	     ", paths: ['/b/**'], placeholder: {text: my-own_1.x2}"),
	 "the placeholder of \"c\" is a part of"},
	{TWO(", paths: ['/a/**'], placeholder: {text: my-own_1.x}",
	     ", paths: ['/b/**'], placeholder: {text: y-own_1.x}"),
	 "the placeholder of \"c\" is a part of"},
	{TWO(", paths: ['/a/**'], placeholder: {text: my-own_1.x}",
	     ", paths: ['/b/**'], placeholder: {text: my-own_1.x}"),
	 NULL},
	{TWO(", paths: ['/a/**'], placeholder: {text: my-own_1.x}",
	     ", paths: ['/b/**'], placeholder: {text: my-own_2.x}"),
	 NULL},
	/* with git */
	{BEARER("ports: [443]") GIT, NULL},
	{BEARER("paths: ['/o/**']") GIT, "does not go with git"},
	{BINDING("attach: query, query: {name: k}") GIT, "of this kind"},
	{HEADER("name: X-Key") GIT, NULL},
};

static void policy_compile_tells_what_cannot_be_attached(void **state)
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

static void policy_compile_reads_how_a_secret_is_written(void **state)
{
	struct buf told;
	struct policy *policy = policy_try(
		HEADER("name: X-Key, format: 'a %s b'"), &told, NULL);
	const struct policy_credential *credential;

	(void)state;
	assert_non_null(policy);
	credential = &policy->credentials[0];
	assert_int_equal(credential->attach, ATTACH_HEADER);
	assert_true(bytes_is(credential->field, "X-Key"));
	assert_true(bytes_is(credential->prefix, "a "));
	assert_true(bytes_is(credential->suffix, " b"));
	assert_int_equal(credential->places, 0);
	policy_free(policy);
	buf_release(&told);
}

static void policy_compile_gives_a_placeholder_the_kinds_shape(void **state)
{
	struct buf told;
	struct policy *policy =
		policy_try(BINDING("attach: github, placeholder: {env: [T]}"),
			   &told, NULL);

	(void)state;
	assert_non_null(policy);
	assert_int_equal(policy->credentials[0].shape, SHAPE_GITHUB);
	assert_int_equal(policy->credentials[0].places,
			 PLACE_HEADER | PLACE_BASIC);
	policy_free(policy);
	buf_release(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_compile_tells_what_cannot_be_attached),
		cmocka_unit_test(policy_compile_reads_how_a_secret_is_written),
		cmocka_unit_test(
			policy_compile_gives_a_placeholder_the_kinds_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
