#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/mcp/web_rules.h"
#include "common/cleanup.h"

#define TOKEN "abcdefghijklmnopqrstuvwxyz012345"

/* The fields of a request: names and values, up to NULL. */
struct head {
	struct field items[4];
	struct fields fields;
};

static const struct fields *head_of(struct head *head, const char *const *texts)
{
	head->fields = (struct fields){head->items, 0, ARRAY_SIZE(head->items)};
	for (size_t i = 0; texts[i]; i += 2)
		assert_int_equal(fields_add(&head->fields, bytes_str(texts[i]),
					    bytes_str(texts[i + 1])),
				 0);
	return &head->fields;
}

#define HEAD(...) head_of(&head, (const char *const[]){__VA_ARGS__, NULL})

static void names_of_this_host_are_local_and_no_others(void **state)
{
	static const char *const local[] = {
		"localhost", "LOCALHOST", "127.0.0.1",
		"127.9.9.9", "::1",	  "[::1]",
	};
	static const char *const other[] = {
		"",
		"[]",
		"evil.example",
		"localhost.evil.net",
		"127.0.0.1.nip",
		"128.0.0.1",
		"127.evil.net.x",
		"10.0.0.1",
		"127.0.0.1.1",
		"0.0.0.0",
		"[::2]",
		"localhost:80",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		assert_true(web_is_local(bytes_str(local[i])));
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		assert_false(web_is_local(bytes_str(other[i])));
}

static void pages_of_other_origins_are_told_apart(void **state)
{
	static const struct {
		const char *origin;
		bool is_local;
	} cases[] = {
		{"http://localhost", true},
		{"http://localhost:3000", true},
		{"https://127.0.0.1:1", true},
		{"http://[::1]", true},
		{"http://[::1]:8931", true},
		{"null", false},
		{"", false},
		{"localhost", false},
		{"http://", false},
		{"http://evil.example", false},
		{"http://evil.example:8931", false},
		{"http://localhost:x", false},
		{"http://localhost:", false},
		{"http://localhost@evil.example", false},
		{"http://evil.example:127.0.0.1", false},
		{"file://localhost", false},
		{"http://localhost/", false},
	};
	struct head head;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			web_origin_is_local(HEAD("origin", cases[i].origin)),
			cases[i].is_local);
	assert_true(web_origin_is_local(HEAD("Accept", "x")));
	assert_false(web_origin_is_local(HEAD("Origin", "http://localhost",
					      "Origin", "http://localhost")));
}

static void a_type_is_accepted_by_name_or_by_range(void **state)
{
	static const struct {
		const char *accept;
		bool takes;
	} cases[] = {
		{"text/event-stream", true},
		{"application/json, Text/Event-Stream;q=0.5", true},
		{"*/*", true},
		{"text/*", true},
		{"application/json ,\ttext/event-stream", true},
		{"application/json", false},
		{"application/*", false},
		{"text/event-streams", false},
		{"text/event", false},
		{"", false},
		{",,", false},
		{"text/", false},
	};
	struct head head;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(web_accepts(HEAD("Accept", cases[i].accept),
					     "text/event-stream"),
				 cases[i].takes);
	assert_true(web_accepts(HEAD("Accept", "application/json", "accept",
				     "text/event-stream"),
				"text/event-stream"));
	assert_false(web_accepts(HEAD("X", "*/*"), "text/event-stream"));
}

static void a_body_is_json_when_its_type_says_so_once(void **state)
{
	struct head head;

	(void)state;
	assert_true(web_is_json(HEAD("Content-Type", "application/json")));
	assert_true(web_is_json(
		HEAD("content-type", "Application/JSON; charset=utf-8")));
	assert_false(web_is_json(HEAD("Content-Type", "text/plain")));
	assert_false(web_is_json(HEAD("Content-Type", "application/jsonp")));
	assert_false(web_is_json(HEAD("Accept", "application/json")));
	assert_false(web_is_json(HEAD("Content-Type", "application/json",
				      "Content-Type", "application/json")));
}

static void the_token_is_asked_for_whole_and_once(void **state)
{
	static const char *const wrong[] = {
		"",
		"Bearer",
		"Bearer ",
		TOKEN,
		"Basic " TOKEN,
		"Bearer " TOKEN "6",
		"Bearer bbcdefghijklmnopqrstuvwxyz012345",
		"Bearer abcdefghijklmnopqrstuvwxyz01234",
		"Bearer" TOKEN,
	};
	struct head head;

	(void)state;
	assert_true(web_has_token(HEAD("authorization", "bearer " TOKEN),
				  bytes_str(TOKEN)));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(web_has_token(HEAD("Authorization", wrong[i]),
					   bytes_str(TOKEN)));
	assert_false(
		web_has_token(HEAD("X", "Bearer " TOKEN), bytes_str(TOKEN)));
	assert_false(web_has_token(HEAD("Authorization", "Bearer " TOKEN,
					"Authorization", "Bearer " TOKEN),
				   bytes_str(TOKEN)));
}

static void a_token_is_long_enough_and_of_plain_letters(void **state)
{
	char longest[WEB_TOKEN_MAX + 1];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	assert_true(web_is_token(bytes_str(TOKEN)));
	assert_true(web_is_token(bytes_from(longest, WEB_TOKEN_MAX)));
	assert_false(web_is_token(bytes_from(longest, WEB_TOKEN_MAX + 1)));
	assert_false(web_is_token(bytes_from(longest, WEB_TOKEN_MIN - 1)));
	assert_false(web_is_token(bytes_str(TOKEN " x")));
	assert_false(web_is_token(bytes_str(TOKEN "\n")));
	assert_false(web_is_token(bytes_from(TOKEN "\0", WEB_TOKEN_MIN + 1)));
	assert_false(web_is_token(bytes_str(TOKEN "\xc3\xa4")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_this_host_are_local_and_no_others),
		cmocka_unit_test(pages_of_other_origins_are_told_apart),
		cmocka_unit_test(a_type_is_accepted_by_name_or_by_range),
		cmocka_unit_test(a_body_is_json_when_its_type_says_so_once),
		cmocka_unit_test(the_token_is_asked_for_whole_and_once),
		cmocka_unit_test(a_token_is_long_enough_and_of_plain_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
