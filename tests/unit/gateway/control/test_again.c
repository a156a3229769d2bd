#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/control/again.h"

#define OWNER 1000
#define A                                                                      \
	"sha256:"                                                              \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B                                                                      \
	"sha256:"                                                              \
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

#define C                                                                      \
	"sha256:"                                                              \
	"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"

#define ROW(activity, method, allowed, detail)                                 \
	"{\"sequence\":1,\"activity\":\"" activity "\",\"allowed\":" allowed   \
	",\"session\":\"s-1\",\"host\":\"control\",\"method\":\"" method       \
	"\",\"detail\":\"" detail "\"}"
#define LEASE                                                                  \
	"sha256:"                                                              \
	"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define CREATED(what)                                                          \
	ROW("admin", "session.create", "true", what ", policy p, repo ")
#define MADE	CREATED("uid 1000: " A " lease " LEASE)
#define CHANGED ROW("admin", "session.policy", "true", "uid 0: " A " to " B)
#define NOT_CHANGED                                                            \
	ROW("admin", "session.policy", "false", "uid 0: " A " to " B ": no")

#define CHANGED_TO_C                                                           \
	ROW("admin", "session.policy", "true", "uid 7: " A " to " C)
#define NOT_TO_C                                                               \
	ROW("admin", "session.policy", "false",                                \
	    "uid 7: " A " to " C ": another one came before")

static void again_is_allowed_by_what_is_on_record_alone(void **state)
{
	static const struct {
		const char *rows[5];
		const char *policy;
		unsigned status; /* 0: it may be made */
	} table[] = {
		{{MADE}, A, 0},
		{{MADE, ROW("session.ended", "", "true", "ended")}, A, 0},
		{{NULL}, A, 403},
		/* Somebody else's. */
		{{CREATED("uid 10001: " A " lease " LEASE)}, A, 403},
		{{CREATED("uid 100: " A " lease " LEASE)}, A, 403},
		{{MADE, ROW("admin", "session.end", "true", "uid 0: revoked")},
		 A,
		 403},
		{{MADE, ROW("session.ended", "", "true", "revoked")}, A, 403},
		{{MADE, ROW("session.ended", "", "true", "expired")}, A, 403},
		/* A policy stopped it: `scrub: {on-reflection: stop}`. */
		{{MADE,
		  ROW("session.ended", "", "true", "credential_reflected")},
		 A,
		 403},
		/* One that was never changed; a lease that is another. */
		{{MADE}, B, 409},
		{{CREATED("uid 1000: " A " lease " B)}, A, 403},
		{{CREATED("uid 1000: policy lease " A " lease " LEASE)},
		 A,
		 403},
		{{MADE, CHANGED}, A, 409},
		{{MADE, CHANGED}, B, 0},
		{{MADE, CHANGED, NOT_CHANGED}, A, 0},
		{{MADE, CHANGED, NOT_CHANGED}, B, 409},
		/* Two at a time: the one that came too late is undone, and
		 * the other holds. */
		{{MADE, CHANGED, CHANGED_TO_C, NOT_TO_C}, B, 0},
		{{MADE, CHANGED, CHANGED_TO_C, NOT_TO_C}, A, 409},
		{{MADE, CHANGED, CHANGED_TO_C, NOT_TO_C}, C, 409},
		{{MADE, CHANGED_TO_C, CHANGED, NOT_TO_C}, B, 0},
		{{MADE, CHANGED, CHANGED_TO_C, NOT_CHANGED}, C, 0},
		{{MADE, CHANGED, CHANGED_TO_C, NOT_CHANGED, NOT_TO_C}, A, 0},
		{{MADE, NOT_CHANGED}, A, 403},
		{{MADE, ROW("admin", "session.create", "false", "uid 1000: x")},
		 A,
		 403},
		/* What can not be read speaks against it. */
		{{MADE, "{"}, A, 403},
		{{MADE, ROW("admin", "session.policy", "true", "uid 0: x")},
		 A,
		 403},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct again again = {
			.id = "s-1", .uid = OWNER, .given = LEASE};
		unsigned status;
		const char *why;

		for (size_t j = 0; j < 5 && table[i].rows[j]; j++)
			again_take(&again, bytes_str(table[i].rows[j]));
		why = again_judge(&again, table[i].policy, &status);
		if (table[i].status != (why ? status : 0))
			fail_msg("row %zu: %s", i, why ? why : "allowed");
	}
}

#define LINKED(id) ROW("admin", AGAIN_METHOD, "true", "uid 1000: " id)

/* The same rows, of another session. */
static void take_of(struct again *again, const char *id, const char *row)
{
	static const struct bytes own = BYTES_LITERAL("\"s-1\"");
	const char *at = strstr(row, (const char *)own.data);
	char text[1024];

	assert_non_null(at);
	(void)snprintf(text, sizeof(text), "%.*s\"%s\"%s", (int)(at - row), row,
		       id, at + own.len);
	again_take(again, bytes_str(text));
}

static void again_is_allowed_by_what_was_made_in_its_place(void **state)
{
	static const struct {
		const char *id, *rows[2];
		unsigned status;
	} table[] = {
		{"s-2", {MADE, NULL}, 0},
		{"s-2", {MADE, ROW("session.ended", "", "true", "ended")}, 0},
		{"s-2",
		 {MADE, ROW("session.ended", "", "true", "revoked")},
		 403},
		{"s-2",
		 {MADE, ROW("session.ended", "", "true", "expired")},
		 403},
		{"s-2",
		 {MADE, ROW("admin", "session.end", "true", "uid 0: revoked")},
		 403},
		{"s-2", {CREATED("uid 10: " A " lease " LEASE), NULL}, 403},
		{"s-2", {CREATED("uid 1000: " A " lease " B), NULL}, 403},
		{"s-2", {MADE, CHANGED}, 409},
		/* It is not on record. */
		{"s-2", {NULL, NULL}, 403},
		{"s-3", {MADE, NULL}, 403},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct again again = {
			.id = "s-1", .uid = OWNER, .given = LEASE};
		unsigned status;
		const char *why;

		again_take(&again, bytes_str(MADE));
		again_take(&again, bytes_str(LINKED("s-2")));
		assert_true(again_follow(&again));
		assert_string_equal(again.id, "s-2");
		for (size_t j = 0; j < 2 && table[i].rows[j]; j++)
			take_of(&again, table[i].id, table[i].rows[j]);
		assert_false(again_follow(&again));
		why = again_judge(&again, A, &status);
		if (table[i].status != (why ? status : 0))
			fail_msg("row %zu: %s", i, why ? why : "allowed");
	}
}

static void again_follows_each_of_several_and_what_followed_them(void **state)
{
	struct again again = {.id = "s-1", .uid = OWNER, .given = LEASE};
	static const char *const ids[] = {"s-2", "s-3", "s-4"};
	unsigned status;

	(void)state;
	again_take(&again, bytes_str(MADE));
	again_take(&again, bytes_str(LINKED("s-2")));
	again_take(&again, bytes_str(LINKED("s-3")));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_true(again_follow(&again));
		assert_string_equal(again.id, ids[i]);
		take_of(&again, ids[i], MADE);
		if (i == 0)
			take_of(&again, ids[i], LINKED("s-4"));
	}
	assert_false(again_follow(&again));
	assert_null(again_judge(&again, A, &status));
	take_of(&again, "s-4", ROW("session.ended", "", "true", "revoked"));
	assert_non_null(again_judge(&again, A, &status));
}

static void again_follows_so_many_and_says_that_there_are_more(void **state)
{
	struct again again = {.id = "s-1", .uid = OWNER, .given = LEASE};
	unsigned status;
	const char *why;

	(void)state;
	again_take(&again, bytes_str(MADE));
	for (int i = 0; i < AGAIN_LINKS_MAX; i++)
		again_take(&again, bytes_str(LINKED("s-2")));
	for (int i = 0; i < AGAIN_LINKS_MAX; i++) {
		assert_true(again_follow(&again));
		take_of(&again, "s-2", MADE);
	}
	assert_false(again_follow(&again));
	assert_null(again_judge(&again, A, &status));
	take_of(&again, "s-2", LINKED("s-3"));
	why = again_judge(&again, A, &status);
	assert_non_null(why);
	assert_non_null(strstr(why, "so often"));
	assert_int_equal(status, 403);
	/* What is known of an end says more. */
	take_of(&again, "s-2", ROW("session.ended", "", "true", "revoked"));
	why = again_judge(&again, A, &status);
	assert_non_null(why);
	assert_non_null(strstr(why, "revoked"));
}

static void a_link_that_can_not_be_read_speaks_against_it(void **state)
{
	static const char *const details[] = {"", "s-2", "uid 1000:"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(details); i++) {
		struct again again = {
			.id = "s-1", .uid = OWNER, .given = LEASE};
		char row[256];
		unsigned status;

		again_take(&again, bytes_str(MADE));
		assert_null(again_judge(&again, A, &status));
		(void)snprintf(row, sizeof(row),
			       "{\"activity\":\"admin\",\"allowed\":true,"
			       "\"session\":\"s-1\",\"method\":\"" AGAIN_METHOD
			       "\",\"detail\":\"%s\"}",
			       details[i]);
		again_take(&again, bytes_str(row));
		assert_non_null(again_judge(&again, A, &status));
	}
}

static void again_takes_no_row_of_another_session(void **state)
{
	struct again again = {.id = "s-2", .uid = OWNER, .given = LEASE};
	unsigned status;

	(void)state;
	again_take(&again, bytes_str(MADE));
	assert_non_null(again_judge(&again, A, &status));
}

static void again_looks_back_at_many_changes_and_no_further(void **state)
{
	struct again again = {.id = "s-1", .uid = OWNER, .given = LEASE};
	unsigned status;

	(void)state;
	again_take(&again, bytes_str(MADE));
	for (int i = 0; i < AGAIN_CHANGES_MAX; i++)
		again_take(&again, bytes_str(CHANGED));
	again_take(&again, bytes_str(CHANGED_TO_C));
	for (int i = 1; i < AGAIN_CHANGES_MAX; i++)
		again_take(&again, bytes_str(NOT_CHANGED));
	again_take(&again, bytes_str(NOT_TO_C));
	assert_null(again_judge(&again, B, &status));
	again_take(&again, bytes_str(NOT_CHANGED));
	assert_non_null(again_judge(&again, B, &status));
	assert_int_equal(status, 403);
}

static void a_policy_has_the_hash_that_is_on_record(void **state)
{
	char hash[POLICY_HASH_SIZE];

	(void)state;
	policy_hash(bytes_str("abc"), hash);
	assert_string_equal(
		hash, "sha256:"
		      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61"
		      "f20015ad");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(again_is_allowed_by_what_is_on_record_alone),
		cmocka_unit_test(
			again_is_allowed_by_what_was_made_in_its_place),
		cmocka_unit_test(
			again_follows_each_of_several_and_what_followed_them),
		cmocka_unit_test(
			again_follows_so_many_and_says_that_there_are_more),
		cmocka_unit_test(a_link_that_can_not_be_read_speaks_against_it),
		cmocka_unit_test(again_takes_no_row_of_another_session),
		cmocka_unit_test(
			again_looks_back_at_many_changes_and_no_further),
		cmocka_unit_test(a_policy_has_the_hash_that_is_on_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
