/* What leaves a request and a response. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/edit/headers.h"

static struct fields fields_of(struct field *items, const char *const *names,
			       size_t count)
{
	for (size_t i = 0; i < count; i++)
		items[i] = (struct field){bytes_str(names[i]), bytes_str("v")};
	return (struct fields){items, count, count};
}

static const char *const names[] = {
	"Accept",
	"AUTHORIZATION",
	"cookie",
	"Private-Token",
	"X-Api-Key",
	"Proxy-Foo",
	"x_http_method_override",
	"PRIVATE_TOKEN",
	"X-Original-URL",
	"X-HTTP-Method-Override",
	"Content-Type",
};

static void edit_replaces_a_credential_of_the_sandbox(void **state)
{
	struct field items[ARRAY_SIZE(names)];
	struct request request = {
		.fields = fields_of(items, names, ARRAY_SIZE(names)),
	};

	(void)state;
	assert_true(edit_request(&request, true));
	assert_int_equal(request.fields.count, 2);
	assert_true(bytes_is(items[0].name, "Accept"));
	assert_true(bytes_is(items[1].name, "Content-Type"));
	assert_false(edit_request(&request, true));
}

static void edit_leaves_a_credential_where_none_of_ours_goes(void **state)
{
	struct field items[ARRAY_SIZE(names)];
	struct request request = {
		.fields = fields_of(items, names, ARRAY_SIZE(names)),
	};

	(void)state;
	assert_false(edit_request(&request, false));
	assert_int_equal(request.fields.count, 7);
	assert_non_null(fields_find(&request.fields, "Authorization"));
	assert_null(fields_find(&request.fields, "Proxy-Foo"));
	assert_null(fields_find(&request.fields, "X-HTTP-Method-Override"));
	assert_null(fields_find(&request.fields, "X-Original-URL"));
}

/* Of what a client may say of itself, the rest stays. */
static void edit_lets_no_field_name_another_request(void **state)
{
	static const char *const others[] = {
		"Forwarded",
		"X-Original-Host",
		"X-Forwarded-Host",
		"X-Forwarded-Server",
		"X-Forwarded-Uri",
		"X-Original-Uri",
		"X_HTTP_Host_Override",
		"X-Forwarded-Path",
		"SCRIPT_NAME",
		"X-Script-Name",
		"X-Forwarded-For",
		"X-Forwarded-Proto",
		"Host-Forwarded",
	};
	struct field items[ARRAY_SIZE(others)];
	struct request request = {
		.fields = fields_of(items, others, ARRAY_SIZE(others)),
	};

	(void)state;
	assert_false(edit_request(&request, false));
	assert_int_equal(request.fields.count, 3);
	assert_true(bytes_is(items[0].name, "X-Forwarded-For"));
	assert_true(bytes_is(items[1].name, "X-Forwarded-Proto"));
	assert_true(bytes_is(items[2].name, "Host-Forwarded"));
}

static const char *const answers[] = {
	"Server",
	"Alt-Svc",
	"Set-Cookie",
	"Public-Key-Pins",
	"Strict-Transport-Security",
};

static void edit_takes_cookies_from_credentialed_responses(void **state)
{
	struct field items[ARRAY_SIZE(answers)];
	struct response response = {
		.fields = fields_of(items, answers, ARRAY_SIZE(answers)),
	};

	(void)state;
	edit_response(&response, true);
	assert_int_equal(response.fields.count, 2);
	assert_null(fields_find(&response.fields, "Set-Cookie"));
	assert_non_null(
		fields_find(&response.fields, "Strict-Transport-Security"));
}

static void edit_leaves_cookies_in_other_responses(void **state)
{
	struct field items[ARRAY_SIZE(answers)];
	struct response response = {
		.fields = fields_of(items, answers, ARRAY_SIZE(answers)),
	};

	(void)state;
	edit_response(&response, false);
	assert_int_equal(response.fields.count, 3);
	assert_non_null(fields_find(&response.fields, "Set-Cookie"));
	assert_null(fields_find(&response.fields, "Alt-Svc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edit_replaces_a_credential_of_the_sandbox),
		cmocka_unit_test(
			edit_leaves_a_credential_where_none_of_ours_goes),
		cmocka_unit_test(edit_lets_no_field_name_another_request),
		cmocka_unit_test(
			edit_takes_cookies_from_credentialed_responses),
		cmocka_unit_test(edit_leaves_cookies_in_other_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
