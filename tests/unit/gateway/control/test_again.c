#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "gateway/control/again.h"

#define OWNER 1000
#define A                                                                      \
	"sha256:"                                                              \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B                                                                      \
	"sha256:"                                                              \
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

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

static void again_is_allowed_by_what_is_on_record_alone(void **state)
{
	static const struct {
		const char *rows[4];
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

		for (size_t j = 0; j < 4 && table[i].rows[j]; j++)
			again_take(&again, bytes_str(table[i].rows[j]));
		why = again_judge(&again, table[i].policy, &status);
		if (table[i].status != (why ? status : 0))
			fail_msg("row %zu: %s", i, why ? why : "allowed");
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
		cmocka_unit_test(again_takes_no_row_of_another_session),
		cmocka_unit_test(a_policy_has_the_hash_that_is_on_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
