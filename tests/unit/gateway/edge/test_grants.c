#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/edge/grants.h"

static struct proposal approved(enum grant_scope scope)
{
	return (struct proposal){
		.id = bytes_str("p-1"),
		.rule = bytes_str("ask"),
		.method = bytes_str("GET"),
		.scheme = 1,
		.host = bytes_str("a.example"),
		.port = 443,
		.path = bytes_str("/x"),
		.state = PROPOSAL_APPROVED,
		.scope = (uint8_t)scope,
		.until_ms = 1000,
	};
}

static void a_grant_answers_its_own_question_alone(void **state)
{
	static struct grants grants;
	struct proposal proposal = approved(GRANT_SESSION);
	struct proposal others[7];

	(void)state;
	grants_add(&grants, &proposal);
	assert_string_equal(grants_find(&grants, &proposal, 0)->id, "p-1");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = proposal;
	others[0].rule = bytes_str("asks");
	others[1].method = bytes_str("HEAD");
	others[2].scheme = 0;
	others[3].host = bytes_str("b.example");
	others[4].port = 444;
	others[5].path = bytes_str("/x/");
	others[6].credential = bytes_str("c");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(grants_find(&grants, &others[i], 0));
	/* What stands beside each other does not run together. */
	others[0] = proposal;
	others[0].rule = bytes_str("as");
	others[0].method = bytes_str("kGET");
	assert_null(grants_find(&grants, &others[0], 0));
}

static void a_grant_ends_at_its_time(void **state)
{
	static struct grants grants;
	struct proposal proposal = approved(GRANT_UNTIL);

	(void)state;
	grants_add(&grants, &proposal);
	assert_non_null(grants_find(&grants, &proposal, 999));
	assert_null(grants_find(&grants, &proposal, 1000));
}

static void only_lasting_approvals_are_kept(void **state)
{
	static struct grants grants;
	struct proposal once = approved(GRANT_ONCE);
	struct proposal denied = approved(GRANT_SESSION);
	struct proposal pending = denied;

	(void)state;
	denied.state = PROPOSAL_DENIED;
	pending.state = PROPOSAL_PENDING;
	grants_add(&grants, &once);
	grants_add(&grants, &denied);
	grants_add(&grants, &pending);
	assert_null(grants_find(&grants, &once, 0));
}

static void the_oldest_makes_room(void **state)
{
	static struct grants grants;
	struct proposal proposal = approved(GRANT_SESSION);
	char path[16];

	(void)state;
	for (int i = 0; i <= GRANTS_MAX; i++) {
		(void)snprintf(path, sizeof(path), "/%d", i);
		proposal.path = bytes_str(path);
		grants_add(&grants, &proposal);
	}
	assert_non_null(grants_find(&grants, &proposal, 0));
	proposal.path = bytes_str("/0");
	assert_null(grants_find(&grants, &proposal, 0));
	proposal.path = bytes_str("/1");
	assert_non_null(grants_find(&grants, &proposal, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grant_answers_its_own_question_alone),
		cmocka_unit_test(a_grant_ends_at_its_time),
		cmocka_unit_test(only_lasting_approvals_are_kept),
		cmocka_unit_test(the_oldest_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
