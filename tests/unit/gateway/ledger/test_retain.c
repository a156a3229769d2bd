#include "gateway/ledger/retain.h"
#include "tests/unit/gateway/ledger/fixture.h"

#define TIME_MS 1763751600123 /* of the fixture's rows */
#define ROWS	40

static int cut(struct fixture *fixture, uint64_t before_ms)
{
	int count = retain_cut(&fixture->store, before_ms, TIME_MS + 1000,
			       &fixture->err);

	if (count < 0)
		fail_msg("%s", fixture->err.text);
	return count;
}

static void rows_go_when_they_are_older_and_the_rest_is_proven(void **state)
{
	struct fixture *fixture = *state;
	struct msg_ledger_verified verified;

	add_rows(fixture, ROWS);
	assert_int_equal(cut(fixture, TIME_MS), 0);
	assert_int_equal(fixture->store.head.sequence, ROWS);
	assert_int_equal(cut(fixture, TIME_MS + 1), ROWS);
	add_rows(fixture, 2);
	for (int i = 0; i < 2; i++) {
		verified = verify_all(fixture);
		if (!verified.is_intact)
			fail_msg("%.*s", BYTES_ARGS(verified.detail));
		assert_int_equal(verified.first, ROWS + 1);
		assert_int_equal(verified.checked_to, ROWS + 3);
		fixture_reopen(fixture);
	}
	assert_false(fixture->store.has_gap);
}

static void rows_behind_one_that_is_kept_are_kept(void **state)
{
	struct fixture *fixture = *state;

	add_rows(fixture, 1);
	/* It is TIME_MS + 1000 old, and those after it are older. */
	assert_int_equal(cut(fixture, TIME_MS + 1), 1);
	add_rows(fixture, 5);
	assert_int_equal(cut(fixture, TIME_MS + 1), 0);
	assert_int_equal(cut(fixture, TIME_MS + 1001), 6);
	assert_int_equal(fixture->store.anchor.sequence, 7);
	assert_true(verify_all(fixture).is_intact);
}

static void a_cut_is_bounded(void **state)
{
	struct fixture *fixture = *state;

	add_rows(fixture, RETAIN_ROWS_MAX + 10);
	assert_int_equal(cut(fixture, TIME_MS + 1), RETAIN_ROWS_MAX);
	assert_int_equal(cut(fixture, TIME_MS + 1), 10);
	assert_int_equal(cut(fixture, TIME_MS + 1), 0);
	assert_true(verify_all(fixture).is_intact);
}

/* Who removes rows himself and sets the anchor as we would. */
static void a_cut_that_no_row_tells_of_is_found(void **state)
{
	static const char *const rows[] = {
		/* the anchor alone */
		"DELETE FROM row WHERE sequence <= 50;"
		"INSERT OR REPLACE INTO anchor SELECT 1, 50, prev, 41"
		" FROM row WHERE sequence = 51",
		/* that names a row which tells of something else */
		"DELETE FROM row WHERE sequence <= 50;"
		"INSERT OR REPLACE INTO anchor SELECT 1, 50, prev, 55"
		" FROM row WHERE sequence = 51",
		/* that names a row which is still to come */
		"DELETE FROM row WHERE sequence <= 50;"
		"INSERT OR REPLACE INTO anchor SELECT 1, 50, prev, 1000"
		" FROM row WHERE sequence = 51",
		/* no anchor at all */
		"DELETE FROM anchor",
		/* another hash */
		"UPDATE anchor SET hash = zeroblob(32)",
		/* a row that was removed comes back */
		("INSERT INTO row SELECT 3, time, kind, allowed, session, json,"
		 " prev, hash FROM row WHERE sequence = 60"),
	};
	struct fixture *fixture = *state;

	add_rows(fixture, ROWS);
	assert_int_equal(cut(fixture, TIME_MS + 1), ROWS);
	add_rows(fixture, ROWS);
	assert_true(verify_all(fixture).is_intact);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fixture_sql(fixture, "CREATE TEMP TABLE kept AS SELECT * FROM "
				     "row;"
				     "CREATE TEMP TABLE was AS SELECT * FROM "
				     "anchor");
		fixture_sql(fixture, rows[i]);
		assert_int_equal(retain_open(&fixture->store, &fixture->err),
				 0);
		if (verify_all(fixture).is_intact)
			fail_msg("not found: %s", rows[i]);
		fixture_sql(fixture, "DELETE FROM row; DELETE FROM anchor;"
				     "INSERT INTO row SELECT * FROM kept;"
				     "INSERT INTO anchor SELECT * FROM was;"
				     "DROP TABLE kept; DROP TABLE was");
		assert_int_equal(retain_open(&fixture->store, &fixture->err),
				 0);
		assert_true(verify_all(fixture).is_intact);
	}
}

/* Else what verification says of it would be gone. */
static void a_broken_chain_is_not_cut(void **state)
{
	struct fixture *fixture = *state;

	add_rows(fixture, ROWS);
	fixture_sql(fixture, "DELETE FROM row WHERE sequence = 5");
	assert_int_equal(retain_cut(&fixture->store, TIME_MS + 1,
				    TIME_MS + 1000, &fixture->err),
			 -1);
	assert_int_equal(verify_all(fixture).broken_at, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(rows_go_when_they_are_older_and_the_rest_is_proven),
		TEST(rows_behind_one_that_is_kept_are_kept),
		TEST(a_cut_is_bounded),
		TEST(a_cut_that_no_row_tells_of_is_found),
		TEST(a_broken_chain_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
