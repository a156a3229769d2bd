#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/exchange/exchange.h"

#define TAIL "\r\nUser-Agent: sallyport\r\nConnection: close\r\n"

static const struct config_source oauth2 = {
	.kind = SOURCE_OAUTH2,
	.host = BYTES_LITERAL("idp.example"),
	.port = 8443,
	.url_path = BYTES_LITERAL("/token"),
	.scope = BYTES_LITERAL("a b"),
};
static const struct config_source app = {
	.kind = SOURCE_GITHUB_APP,
	.host = BYTES_LITERAL("api.github.com"),
	.port = 443,
	.installation = 42,
};
static const struct source_permission rights[] = {
	{BYTES_LITERAL("contents"), true},
	{BYTES_LITERAL("metadata"), false},
};

static void assert_asks(const struct config_source *source,
			const struct msg_exchange *wanted, const char *text)
{
	auto_type(buf_release) struct buf out;
	struct err err;

	buf_init(&out, EXCHANGE_SAY_MAX);
	if (request_buy(source, wanted, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(buf_str(&out), text);
}

static void assert_refuses(const struct config_source *source,
			   const struct msg_exchange *wanted, const char *words)
{
	auto_type(buf_release) struct buf out;
	struct err err;

	buf_init(&out, EXCHANGE_SAY_MAX);
	assert_int_equal(request_buy(source, wanted, &out, &err), -1);
	assert_non_null(strstr(err.text, words));
}

static void client_credentials_are_asked_for_as_rfc_6749_says(void **state)
{
	const struct msg_exchange wanted = {.proof = bytes_str("id:p/w :x")};

	(void)state;
	/* base64 of "id:p%2Fw+%3Ax" */
	assert_asks(&oauth2, &wanted,
		    "POST /token HTTP/1.1\r\nHost: idp.example:8443" TAIL
		    "Accept: application/json\r\n"
		    "Authorization: Basic aWQ6cCUyRncrJTNBeA==\r\n"
		    "Content-Type: application/x-www-form-urlencoded\r\n"
		    "Content-Length: 39\r\n\r\n"
		    "grant_type=client_credentials&scope=a+b");
}

static void a_refresh_token_goes_with_the_client_in_the_body(void **state)
{
	struct config_source source = oauth2;
	const struct msg_exchange wanted = {.proof = bytes_str("id:pw"),
					    .refresh =
						    bytes_str("r&=\xc3\xa9")};

	(void)state;
	source.in_body = true;
	source.scope.len = 0;
	assert_asks(&source, &wanted,
		    "POST /token HTTP/1.1\r\nHost: idp.example:8443" TAIL
		    "Accept: application/json\r\n"
		    "Content-Type: application/x-www-form-urlencoded\r\n"
		    "Content-Length: 82\r\n\r\n"
		    "grant_type=refresh_token&refresh_token=r%26%3D%C3%A9"
		    "&client_id=id&client_secret=pw");
}

static void a_client_without_an_id_is_none(void **state)
{
	static const char *const proofs[] = {"", "only", ":password"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(proofs); i++) {
		const struct msg_exchange wanted = {
			.proof = bytes_str(proofs[i])};

		assert_refuses(&oauth2, &wanted, "id:password");
	}
}

static void an_apps_token_is_asked_for_by_name_and_right(void **state)
{
	const struct msg_exchange wanted = {.proof = bytes_str("h.c.s"),
					    .repository =
						    bytes_str("acme/widgets"),
					    .permissions = rights,
					    .permissions_count = 2};

	(void)state;
	assert_asks(&app, &wanted,
		    "POST /app/installations/42/access_tokens HTTP/1.1\r\n"
		    "Host: api.github.com" TAIL
		    "Accept: application/vnd.github+json\r\n"
		    "X-GitHub-Api-Version: 2022-11-28\r\n"
		    "Authorization: Bearer h.c.s\r\n"
		    "Content-Type: application/json\r\n"
		    "Content-Length: 81\r\n\r\n"
		    "{\"repositories\":[\"widgets\"],\"permissions\":"
		    "{\"contents\":\"write\",\"metadata\":\"read\"}}");
}

#define REPOSITORY(text)                                                       \
	{.repository = bytes_str(text),                                        \
	 .permissions = rights,                                                \
	 .permissions_count = 2}

static void whose_a_repository_is_is_asked_by_its_whole_name(void **state)
{
	const struct msg_exchange wanted = {.proof = bytes_str("h.c.s"),
					    .repository =
						    bytes_str("acme/widgets"),
					    .permissions = rights,
					    .permissions_count = 2};
	auto_type(buf_release) struct buf out;
	struct err err;

	(void)state;
	buf_init(&out, EXCHANGE_SAY_MAX);
	assert_int_equal(request_owner(&app, &wanted, &out, &err), 0);
	assert_string_equal(buf_str(&out),
			    "GET /repos/acme/widgets/installation HTTP/1.1\r\n"
			    "Host: api.github.com" TAIL
			    "Accept: application/vnd.github+json\r\n"
			    "X-GitHub-Api-Version: 2022-11-28\r\n"
			    "Authorization: Bearer h.c.s\r\n\r\n");
}

/* The second decision: the vault does not ask for these. */
static void a_token_for_everything_is_not_asked_for(void **state)
{
	static const struct source_permission workflows[] = {
		{BYTES_LITERAL("contents"), true},
		{BYTES_LITERAL("workflows"), true},
	};
	const struct msg_exchange rows[] = {
		{.permissions = rights, .permissions_count = 2},
		{.repository = bytes_str("acme/widgets")},
		{.repository = bytes_str("acme/widgets"),
		 .permissions = workflows,
		 .permissions_count = 2},
		REPOSITORY("widgets"),
		REPOSITORY("acme/"),
		REPOSITORY("/widgets"),
		REPOSITORY("acme/.."),
		REPOSITORY("acme/widgets/more"),
		REPOSITORY("acme/wid gets"),
		REPOSITORY("acme/widgets?x"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_refuses(&app, &rows[i], "one repository");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			client_credentials_are_asked_for_as_rfc_6749_says),
		cmocka_unit_test(
			a_refresh_token_goes_with_the_client_in_the_body),
		cmocka_unit_test(a_client_without_an_id_is_none),
		cmocka_unit_test(an_apps_token_is_asked_for_by_name_and_right),
		cmocka_unit_test(
			whose_a_repository_is_is_asked_by_its_whole_name),
		cmocka_unit_test(a_token_for_everything_is_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
