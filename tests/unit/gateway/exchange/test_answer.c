#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/exchange/answer.h"

#define NOW_MS 1795000000000ull /* 2026-11-18T11:06:40Z */
#define LATER  "2026-11-18T12:06:40Z"
#define BEFORE "2026-11-18T11:06:39Z"

struct row {
	unsigned status;
	const char *body;
	const char *token; /* NULL: refused, with these words */
	const char *words;
	uint64_t lifetime_ms;
};

static void try_row(enum source_kind kind, const struct row *row)
{
	const struct config_source source = {.kind = (uint8_t)kind};
	struct answer answer;
	struct err err = {0};
	int got = answer_read(&answer, &source, row->status,
			      bytes_str(row->body), NOW_MS, &err);

	if (!row->token) {
		if (got == 0 || !strstr(err.text, row->words))
			fail_msg("%s: %s", row->body, err.text);
		return;
	}
	if (got < 0)
		fail_msg("%s: %s", row->body, err.text);
	assert_true(bytes_is(answer.exchanged.token, row->token));
	assert_int_equal(answer.exchanged.lifetime_ms, row->lifetime_ms);
	answer_release(&answer);
}

#define TOKEN "{\"access_token\":\"abc\",\"token_type\":"

static void a_token_endpoints_answer_is_a_token_or_words(void **state)
{
	static const struct row rows[] = {
		{200, TOKEN "\"bearer\",\"expires_in\":60}", "abc", "", 60000},
		{200, TOKEN "\"BEARER\"}", "abc", "", 0},
		{200, TOKEN "\"Bearer\",\"expires_in\":null,\"x\":[]}", "abc",
		 "", 0},
		{200, TOKEN "\"mac\"}", NULL, "not bearer", 0},
		{200, "{\"access_token\":\"abc\"}", NULL, "not bearer", 0},
		{200, TOKEN "\"bearer\",\"expires_in\":0}", NULL, "expired", 0},
		{200, TOKEN "\"bearer\",\"expires_in\":-1}", NULL,
		 "no lifetime", 0},
		{200, TOKEN "\"bearer\",\"expires_in\":\"60\"}", NULL,
		 "no lifetime", 0},
		{200, TOKEN "\"bearer\",\"expires_in\":99999999999}", NULL,
		 "no lifetime", 0},
		{200, TOKEN "\"bearer\",\"refresh_token\":\"a b\"}", NULL,
		 "refresh_token", 0},
		{200, "{\"access_token\":\"a\\nb\",\"token_type\":\"bearer\"}",
		 NULL, "no token", 0},
		{200, "{\"access_token\":\"\",\"token_type\":\"bearer\"}", NULL,
		 "no token", 0},
		{200, "{\"access_token\":7,\"token_type\":\"bearer\"}", NULL,
		 "no token", 0},
		{200, TOKEN "\"bearer\",\"access_token\":\"d\"}", NULL,
		 "no JSON object", 0},
		{200, TOKEN "\"bearer\"} x", NULL, "no JSON object", 0},
		{200, "[]", NULL, "no JSON object", 0},
		{200, "", NULL, "no JSON object", 0},
		{201, TOKEN "\"bearer\"}", NULL, "refused: 201", 0},
		{400, "{\"error\":\"invalid_grant\"}", NULL,
		 "refused: 400 invalid_grant", 0},
		{500, "<html>", NULL, "refused: 500", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		try_row(SOURCE_OAUTH2, &rows[i]);
}

/* The rest of what endpoints say is theirs, and not for our log. */
static void an_error_is_told_by_its_name_alone(void **state)
{
	static const char *const bodies[] = {
		"{\"error\":\"See \\u001b[31m\"}",
		"{\"error\":\"a_name_that_is_longer_than_any_error_has_been\"}",
		"{\"error\":{\"x\":1}}",
		"{\"error\":\"\"}",
	};
	const struct config_source source = {.kind = SOURCE_OAUTH2};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct answer answer;
		struct err err;

		assert_int_equal(answer_read(&answer, &source, 401,
					     bytes_str(bodies[i]), NOW_MS,
					     &err),
				 -1);
		assert_string_equal(err.text, "the endpoint refused: 401");
	}
}

static void githubs_answer_is_for_one_repository(void **state)
{
	static const struct row rows[] = {
		{201, "{\"token\":\"ghs_1\",\"expires_at\":\"" LATER "\"}",
		 "ghs_1", "", 3600000},
		{201,
		 "{\"token\":\"ghs_1\",\"expires_at\":\"" LATER
		 "\",\"repositories\":[{}],"
		 "\"repository_selection\":\"selected\"}",
		 "ghs_1", "", 3600000},
		{201,
		 "{\"token\":\"ghs_1\",\"expires_at\":\"" LATER
		 "\",\"repository_selection\":\"all\"}",
		 NULL, "other repositories", 0},
		{201,
		 "{\"token\":\"ghs_1\",\"expires_at\":\"" LATER
		 "\",\"repositories\":[{},{}]}",
		 NULL, "other repositories", 0},
		{201,
		 "{\"token\":\"ghs_1\",\"expires_at\":\"" LATER
		 "\",\"repositories\":[]}",
		 NULL, "other repositories", 0},
		{201, "{\"token\":\"ghs_1\",\"expires_at\":\"" BEFORE "\"}",
		 NULL, "expired", 0},
		{201, "{\"token\":\"ghs_1\",\"expires_at\":\"soon\"}", NULL,
		 "no time", 0},
		{201, "{\"token\":\"ghs_1\"}", NULL, "no time", 0},
		{201, "{\"expires_at\":\"" LATER "\"}", NULL, "no token", 0},
		{200, "{\"token\":\"ghs_1\",\"expires_at\":\"" LATER "\"}",
		 NULL, "refused: 200", 0},
		{401, "{\"message\":\"Bad credentials\"}", NULL, "refused: 401",
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		try_row(SOURCE_GITHUB_APP, &rows[i]);
}

static void a_token_is_overwritten_with_its_answer(void **state)
{
	const struct config_source source = {.kind = SOURCE_OAUTH2};
	struct answer answer;
	struct err err;
	json_t *token;

	(void)state;
	assert_int_equal(answer_read(&answer, &source, 200,
				     bytes_str(TOKEN "\"bearer\"}"), NOW_MS,
				     &err),
			 0);
	token = json_incref(json_object_get(answer.root, "access_token"));
	assert_memory_equal(json_string_value(token), "abc", 3);
	answer_release(&answer);
	assert_memory_equal(json_string_value(token), "\0\0\0", 3);
	json_decref(token);
}

static void a_repository_is_of_the_installation_or_named(void **state)
{
	static const struct {
		unsigned status;
		const char *body;
		const char *words; /* NULL: it is */
	} rows[] = {
		{200, "{\"id\":42,\"account\":{\"login\":\"acme\"}}", NULL},
		{200, "{\"id\":43}", "no repository acme/widgets"},
		{404, "{\"message\":\"Not Found\"}", "no repository acme/widg"},
		{301, "", "no repository acme/widgets"},
		{401, "{\"message\":\"x\"}", "the endpoint refused: 401"},
		{500, "", "the endpoint refused: 500"},
		{201, "{\"id\":42}", "the endpoint refused: 201"},
		{200, "{\"id\":\"42\"}", "no JSON object"},
		{200, "{\"id\":42.0}", "no JSON object"},
		{200, "{\"id\":42,\"id\":42}", "no JSON object"},
		{200, "{}", "no JSON object"},
		{200, "[42]", "no JSON object"},
		{200, "", "no JSON object"},
	};
	const struct config_source source = {.kind = SOURCE_GITHUB_APP,
					     .installation = 42};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {0};
		int got = answer_owner(&source, rows[i].status,
				       bytes_str(rows[i].body),
				       bytes_str("acme/widgets"), &err);

		assert_int_equal(got, rows[i].words ? -1 : 0);
		if (rows[i].words && !strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].body, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_endpoints_answer_is_a_token_or_words),
		cmocka_unit_test(a_token_is_overwritten_with_its_answer),
		cmocka_unit_test(an_error_is_told_by_its_name_alone),
		cmocka_unit_test(githubs_answer_is_for_one_repository),
		cmocka_unit_test(a_repository_is_of_the_installation_or_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
