#include "tests/unit/gateway/ledger/fixture.h"

#define ROWS 40

static void verify_finds_nothing_wrong_with_an_honest_store(void **state)
{
	struct fixture *fixture = *state;
	struct msg_ledger_verified verified;

	verified = verify_all(fixture);
	assert_true(verified.is_intact);
	assert_int_equal(verified.checked_to, 0);
	add_rows(fixture, ROWS);
	verified = verify_all(fixture);
	assert_true(verified.is_intact);
	assert_int_equal(verified.checked_to, ROWS);
	assert_true(verified.detail.len > 0);
}

static void verify_finds_every_tampering(void **state)
{
	static const struct {
		const char *sql;
		uint64_t broken_at;
	} rows[] = {
		{"UPDATE row SET json = replace(json, 'row 6', 'row X')"
		 " WHERE sequence = 7",
		 7},
		{"UPDATE row SET json = json || ' ' WHERE sequence = 1", 1},
		{"UPDATE row SET json = replace(json, 'false', 'true'),"
		 " allowed = 1 WHERE sequence = 9",
		 9},
		{"UPDATE row SET hash = zeroblob(32) WHERE sequence = 5", 5},
		{"UPDATE row SET prev = zeroblob(32) WHERE sequence = 5", 5},
		{"UPDATE row SET hash = x'00' WHERE sequence = 5", 5},
		{"UPDATE row SET allowed = 1 WHERE sequence = 9", 9},
		{"UPDATE row SET allowed = 7 WHERE sequence = 9", 9},
		{"UPDATE row SET kind = 4 WHERE sequence = 10", 10},
		{"UPDATE row SET kind = 99 WHERE sequence = 10", 10},
		{"UPDATE row SET time = time + 1 WHERE sequence = 11", 11},
		{"UPDATE row SET session = 's-9' WHERE sequence = 12", 12},
		{"UPDATE row SET session = '' WHERE sequence = 12", 12},
		{"DELETE FROM row WHERE sequence = 1", 1},
		{"DELETE FROM row WHERE sequence = 20", 20},
		{"DELETE FROM row WHERE sequence BETWEEN 20 AND 29", 20},
		{"UPDATE row SET sequence = sequence + 1000"
		 " WHERE sequence = 13",
		 13},
		{"UPDATE row SET sequence = 1000 WHERE sequence = 3;"
		 "UPDATE row SET sequence = 3 WHERE sequence = 4;"
		 "UPDATE row SET sequence = 4 WHERE sequence = 1000",
		 3},
		{"INSERT INTO row SELECT 41, time, kind, allowed, session,"
		 " json, prev, hash FROM row WHERE sequence = 40",
		 41},
		{"DELETE FROM row WHERE sequence > 30", 31},
		{"DELETE FROM row", 1},
		/* the head put right as well: found by memory */
		{"DELETE FROM row WHERE sequence > 30;"
		 "UPDATE head SET sequence = 30, hash ="
		 " (SELECT hash FROM row WHERE sequence = 30)",
		 31},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg_ledger_verified verified;
		struct fixture *fixture;

		assert_int_equal(fixture_setup(state), 0);
		fixture = *state;
		add_rows(fixture, ROWS);
		assert_true(verify_all(fixture).is_intact);
		fixture_sql(fixture, rows[i].sql);
		verified = verify_all(fixture);
		if (verified.is_intact ||
		    verified.broken_at != rows[i].broken_at)
			fail_msg("%s: broken at %llu", rows[i].sql,
				 (unsigned long long)verified.broken_at);
		assert_int_equal(verified.checked_to, rows[i].broken_at - 1);
		assert_int_equal(fixture_teardown(state), 0);
	}
}

/* Row 2 holds its outcome, row 1 does not. */
static void verify_finds_an_outcome_that_was_taken_or_given(void **state)
{
	static const struct {
		const char *sql;
		uint64_t broken_at;
	} rows[] = {
		{"UPDATE row SET kind = kind - 64 WHERE sequence = 2", 2},
		{"UPDATE row SET kind = kind + 1 WHERE sequence = 2", 2},
		{"UPDATE row SET kind = kind + 64 WHERE sequence = 1", 1},
		{"UPDATE row SET kind = kind + 64 WHERE sequence = 2", 2},
		{"UPDATE row SET session = '' WHERE sequence = 2", 2},
		{"UPDATE row SET json = replace(json, '200', '404')"
		 " WHERE sequence = 2",
		 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg_ledger_verified verified;
		struct fixture *fixture;

		assert_int_equal(fixture_setup(state), 0);
		fixture = *state;
		assert_int_equal(store_begin(&fixture->store, &fixture->err),
				 0);
		assert_int_equal(
			add_one(fixture, RECORD_REQUEST, true, "s-0", ""), 0);
		assert_int_equal(add_ended(fixture, RECORD_REQUEST), 0);
		assert_int_equal(store_commit(&fixture->store, &fixture->err),
				 0);
		assert_true(verify_all(fixture).is_intact);
		fixture_sql(fixture, rows[i].sql);
		verified = verify_all(fixture);
		if (verified.is_intact ||
		    verified.broken_at != rows[i].broken_at)
			fail_msg("%s: broken at %llu", rows[i].sql,
				 (unsigned long long)verified.broken_at);
		assert_int_equal(fixture_teardown(state), 0);
	}
}

static void verify_finds_a_cut_tail_after_a_restart_and_ever_after(void **state)
{
	struct fixture *fixture = *state;
	struct msg_ledger_verified verified;

	add_rows(fixture, ROWS);
	fixture_sql(fixture, "DELETE FROM row WHERE sequence > 30");
	fixture_reopen(fixture);
	assert_true(fixture->store.has_gap);
	assert_int_equal(fixture->store.gap.sequence, 30);
	assert_int_equal(fixture->store.head.sequence, ROWS);
	add_rows(fixture, 5);
	fixture_reopen(fixture);
	assert_false(fixture->store.has_gap);
	verified = verify_all(fixture);
	assert_false(verified.is_intact);
	assert_int_equal(verified.broken_at, 31);
	/* What follows the gap can still be verified. */
	assert_int_equal(store_verify(&fixture->store, ROWS, &fixture->arena,
				      &verified, &fixture->err),
			 0);
	assert_true(verified.is_intact && verified.is_done);
	assert_int_equal(verified.checked_to, ROWS + 5);
}

static void verify_goes_on_in_steps(void **state)
{
	struct fixture *fixture = *state;
	struct msg_ledger_verified verified = {0};
	uint64_t before = 0;
	int steps = 0;

	for (int i = 0; i < 12; i++)
		add_rows(fixture, 1000);
	do {
		assert_int_equal(
			store_verify(&fixture->store, verified.checked_to,
				     &fixture->arena, &verified, &fixture->err),
			0);
		assert_true(verified.is_intact);
		assert_true(verified.checked_to - before <=
			    STORE_VERIFY_ROWS_MAX);
		before = verified.checked_to;
		steps++;
	} while (!verified.is_done);
	assert_int_equal(verified.checked_to, 12000);
	assert_true(steps >= 3);
}

#define VERIFY_TEST(test)                                                      \
	cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		VERIFY_TEST(verify_finds_nothing_wrong_with_an_honest_store),
		cmocka_unit_test(verify_finds_every_tampering),
		cmocka_unit_test(
			verify_finds_an_outcome_that_was_taken_or_given),
		VERIFY_TEST(
			verify_finds_a_cut_tail_after_a_restart_and_ever_after),
		VERIFY_TEST(verify_goes_on_in_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
