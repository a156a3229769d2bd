#include "tests/unit/gateway/ledger/fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void store_continues_its_chain_after_a_restart(void **state)
{
	struct fixture *fixture = *state;
	struct chain before;

	add_rows(fixture, 10);
	before = fixture->store.head;
	assert_int_equal(before.sequence, 10);
	fixture_reopen(fixture);
	assert_false(fixture->store.has_gap);
	assert_int_equal(fixture->store.head.sequence, 10);
	assert_memory_equal(fixture->store.head.hash, before.hash, DIGEST_LEN);
	add_rows(fixture, 5);
	assert_int_equal(fixture->store.head.sequence, 15);
	assert_true(verify_all(fixture).is_intact);
}

static void store_forgets_what_was_not_committed(void **state)
{
	struct fixture *fixture = *state;

	add_rows(fixture, 3);
	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	assert_int_equal(add_one(fixture, RECORD_ADMIN, true, "", "gone"), 0);
	store_rollback(&fixture->store);
	assert_int_equal(fixture->store.head.sequence, 3);
	add_rows(fixture, 1);
	fixture_reopen(fixture);
	assert_int_equal(fixture->store.head.sequence, 4);
	assert_true(verify_all(fixture).is_intact);
}

static void store_keeps_every_row_however_many_go_in_together(void **state)
{
	static const size_t counts[] = {1,
					GROUP_ROWS - 1,
					GROUP_ROWS,
					GROUP_ROWS + 1,
					5 * (size_t)GROUP_ROWS,
					1};
	struct fixture *fixture = *state;
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		add_rows(fixture, counts[i]);
		sum += counts[i];
		assert_int_equal(fixture->store.head.sequence, sum);
	}
	fixture_reopen(fixture);
	assert_false(fixture->store.has_gap);
	assert_int_equal(fixture->store.head.sequence, sum);
	assert_true(verify_all(fixture).is_intact);
	assert_int_equal(verify_all(fixture).checked_to, sum);
}

static int cached_bytes(const struct fixture *fixture)
{
	int now, highest;

	assert_int_equal(sqlite3_db_status(fixture->store.db,
					   SQLITE_DBSTATUS_CACHE_USED, &now,
					   &highest, 0),
			 SQLITE_OK);
	return now;
}

static void store_at_rest_keeps_no_pages_and_goes_on(void **state)
{
	struct fixture *fixture = *state;
	int busy;

	for (int i = 0; i < 10; i++)
		add_rows(fixture, 5 * (size_t)GROUP_ROWS);
	busy = cached_bytes(fixture);
	store_rest(&fixture->store);
	assert_true(cached_bytes(fixture) < busy / 2);
	add_rows(fixture, 3);
	assert_true(verify_all(fixture).is_intact);
}

static void store_forgets_a_whole_group_that_was_not_committed(void **state)
{
	struct fixture *fixture = *state;

	add_rows(fixture, 3);
	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	for (int i = 0; i < 2 * GROUP_ROWS + 3; i++)
		assert_int_equal(
			add_one(fixture, RECORD_ADMIN, true, "s-0", "gone"), 0);
	store_rollback(&fixture->store);
	add_rows(fixture, 2);
	fixture_reopen(fixture);
	assert_int_equal(fixture->store.head.sequence, 5);
	assert_true(verify_all(fixture).is_intact);
}

static void store_makes_a_file_that_its_owner_alone_can_read(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	assert_int_equal(fstatat(fixture->directory, "ledger.db", &status, 0),
			 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(
		fstatat(fixture->directory, "ledger.db-wal", &status, 0), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void store_refuses_a_file_that_others_can_read(void **state)
{
	struct fixture *fixture = *state;
	struct store other;

	store_close(&fixture->store);
	assert_int_equal(fchmodat(fixture->directory, "ledger.db", 0644, 0), 0);
	assert_int_equal(store_open(&other, fixture->directory, (uid_t)-1,
				    &fixture->err),
			 -1);
	assert_int_equal(fchmodat(fixture->directory, "ledger.db", 0600, 0), 0);
	fixture_open(fixture);
}

static void store_refuses_a_database_that_is_not_a_ledger(void **state)
{
	struct fixture *fixture = *state;
	struct store other;

	fixture_sql(fixture, "PRAGMA application_id = 1");
	store_close(&fixture->store);
	assert_int_equal(store_open(&other, fixture->directory, (uid_t)-1,
				    &fixture->err),
			 -1);
	assert_non_null(strstr(fixture->err.text, "not a ledger"));
}

static void store_refuses_a_version_that_it_does_not_know(void **state)
{
	struct fixture *fixture = *state;
	struct store other;

	fixture_sql(fixture, "PRAGMA user_version = 3");
	store_close(&fixture->store);
	assert_int_equal(store_open(&other, fixture->directory, (uid_t)-1,
				    &fixture->err),
			 -1);
	assert_int_equal(fixture->err.code, ERR_UNSUPPORTED);
}

static int version_of(struct fixture *fixture)
{
	sqlite3_stmt *statement = NULL;
	int version;

	assert_int_equal(sqlite3_prepare_v2(fixture->store.db,
					    "PRAGMA user_version", -1,
					    &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	version = sqlite3_column_int(statement, 0);
	(void)sqlite3_finalize(statement);
	return version;
}

/* What knows nothing but that version refuses it from here on. */
static void store_goes_on_with_the_version_before(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(version_of(fixture), 2);
	add_rows(fixture, 5);
	fixture_sql(fixture, "PRAGMA user_version = 1");
	fixture_reopen(fixture);
	assert_int_equal(version_of(fixture), 2);
	assert_false(fixture->store.has_gap);
	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	assert_int_equal(add_ended(fixture, RECORD_REQUEST), 0);
	assert_int_equal(store_commit(&fixture->store, &fixture->err), 0);
	fixture_reopen(fixture);
	assert_int_equal(fixture->store.head.sequence, 6);
	assert_true(verify_all(fixture).is_intact);
	assert_int_equal(verify_all(fixture).checked_to, 6);
}

static void store_refuses_a_second_process(void **state)
{
	struct fixture *fixture = *state;
	struct store other;

	/* The lock of another process, which POSIX locks know by pid. */
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(store_open(&other, fixture->directory, (uid_t)-1,
				 &fixture->err) == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void store_keeps_its_log_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	for (int i = 0; i < 60; i++)
		add_rows(fixture, 1024);
	assert_int_equal(
		fstatat(fixture->directory, "ledger.db-wal", &status, 0), 0);
	assert_true(status.st_size < 24 << 20);
	assert_true(verify_all(fixture).is_intact);
}

/* ---- queries ---- */

static struct msg_ledger_rows ask(struct fixture *fixture,
				  const struct msg_ledger_query *query)
{
	struct msg_ledger_rows rows;

	if (store_query(&fixture->store, query, &fixture->arena, &rows,
			&fixture->err) < 0)
		fail_msg("%s", fixture->err.text);
	return rows;
}

static void store_answers_each_kind_of_query(void **state)
{
	static const struct {
		struct msg_ledger_query query;
		size_t count;
		uint64_t first, last;
		bool more;
	} rows[] = {
		{{.limit = 64}, 24, 1, 24, false},
		{{.limit = 10}, 10, 1, 10, true},
		{{.limit = 10, .after = 20}, 4, 21, 24, false},
		{{.limit = 4, .after = 20}, 4, 21, 24, false},
		{{.limit = 3, .newest = true}, 3, 22, 24, true},
		{{.limit = 64, .session = BYTES_LITERAL("s-1")},
		 8,
		 2,
		 23,
		 false},
		{{.limit = 2, .newest = true, .session = BYTES_LITERAL("s-1")},
		 2,
		 20,
		 23,
		 true},
		{{.limit = 64, .kind = BYTES_LITERAL("request")},
		 12,
		 2,
		 24,
		 false},
		{{.limit = 64, .denied_only = true}, 6, 1, 21, false},
		{{.limit = 64,
		  .denied_only = true,
		  .session = BYTES_LITERAL("s-0"),
		  .kind = BYTES_LITERAL("connection")},
		 2,
		 1,
		 13,
		 false},
		{{.limit = 64, .session = BYTES_LITERAL("s-9")},
		 0,
		 0,
		 0,
		 false},
		{{.limit = 64, .after = UINT64_MAX}, 0, 0, 0, false},
	};
	struct fixture *fixture = *state;

	add_rows(fixture, 24);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg_ledger_rows got = ask(fixture, &rows[i].query);

		assert_int_equal(got.rows_count, rows[i].count);
		assert_int_equal(got.more, rows[i].more);
		if (rows[i].count == 0)
			continue;
		assert_int_equal(got.rows[0].sequence, rows[i].first);
		assert_int_equal(got.rows[got.rows_count - 1].sequence,
				 rows[i].last);
	}
}

static void add_denied_response(struct fixture *fixture)
{
	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	assert_int_equal(add_one(fixture, RECORD_RESPONSE, false, "s-0", ""),
			 0);
	assert_int_equal(store_commit(&fixture->store, &fixture->err), 0);
}

/* Who asks for outcomes sees each, wherever it stands. */
static void store_finds_a_row_with_its_outcome_by_either_kind(void **state)
{
	static const struct {
		struct msg_ledger_query query;
		size_t count;
		uint64_t first, last;
	} rows[] = {
		{{.kind = BYTES_LITERAL("request")}, 2, 1, 4},
		{{.kind = BYTES_LITERAL("connection")}, 2, 2, 5},
		{{.kind = BYTES_LITERAL("response")}, 3, 3, 5},
		{{.kind = BYTES_LITERAL("response"), .after = 4}, 1, 5, 5},
		{{.kind = BYTES_LITERAL("response"),
		  .newest = true,
		  .before = 5},
		 2,
		 3,
		 4},
		{{.kind = BYTES_LITERAL("response"),
		  .session = BYTES_LITERAL("s-0")},
		 3,
		 3,
		 5},
		{{.kind = BYTES_LITERAL("request"),
		  .session = BYTES_LITERAL("s-0")},
		 2,
		 1,
		 4},
		{{.kind = BYTES_LITERAL("admin")}, 1, 6, 6},
		{{.kind = BYTES_LITERAL("response"), .denied_only = true},
		 1,
		 7,
		 7},
	};
	struct fixture *fixture = *state;

	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	assert_int_equal(add_one(fixture, RECORD_REQUEST, true, "s-0", ""), 0);
	assert_int_equal(add_one(fixture, RECORD_CONNECTION, true, "s-0", ""),
			 0);
	assert_int_equal(add_one(fixture, RECORD_RESPONSE, true, "s-0", ""), 0);
	assert_int_equal(add_ended(fixture, RECORD_REQUEST), 0);
	assert_int_equal(add_ended(fixture, RECORD_CONNECTION), 0);
	assert_int_equal(add_one(fixture, RECORD_ADMIN, true, "", ""), 0);
	assert_int_equal(store_commit(&fixture->store, &fixture->err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg_ledger_query query = rows[i].query;
		struct msg_ledger_rows got;

		if (query.denied_only)
			add_denied_response(fixture);
		query.limit = 64;
		got = ask(fixture, &query);
		assert_int_equal(got.rows_count, rows[i].count);
		assert_false(got.more);
		assert_int_equal(got.rows[0].sequence, rows[i].first);
		assert_int_equal(got.rows[got.rows_count - 1].sequence,
				 rows[i].last);
		for (size_t k = 1; k < got.rows_count; k++)
			assert_true(got.rows[k].sequence >
				    got.rows[k - 1].sequence);
	}
}

static void store_refuses_a_query_that_makes_no_sense(void **state)
{
	static const struct msg_ledger_query queries[] = {
		{.limit = 0},
		{.limit = 65},
		{.limit = 1, .kind = BYTES_LITERAL("' OR 1=1 --")},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct msg_ledger_rows rows;

		assert_int_equal(store_query(&fixture->store, &queries[i],
					     &fixture->arena, &rows,
					     &fixture->err),
				 -1);
		assert_int_equal(fixture->err.code, ERR_INVALID);
	}
}

static void store_gives_lines_that_anyone_can_check(void **state)
{
	const struct msg_ledger_query query = {.limit = 2};
	struct fixture *fixture = *state;
	struct msg_ledger_rows rows;
	uint8_t prev[DIGEST_LEN], hash[DIGEST_LEN], wanted[DIGEST_LEN];
	/* ,"prev":"<64>","hash":"<64>"} */
	const size_t end = 9 + 64 + 1 + 9 + 64 + 2 - 1;

	add_rows(fixture, 2);
	rows = ask(fixture, &query);
	for (size_t i = 0; i < 2; i++) {
		struct bytes line = rows.rows[i].json;
		size_t cut = line.len - end - 1;
		auto_type(buf_release) struct buf json;

		buf_init(&json, ROW_JSON_MAX);
		assert_int_equal(buf_add(&json, bytes_slice(line, 0, cut)), 0);
		assert_int_equal(buf_add_byte(&json, '}'), 0);
		assert_int_equal(
			bytes_from_hex(bytes_slice(line, cut + 9, cut + 9 + 64),
				       prev),
			0);
		assert_int_equal(bytes_from_hex(bytes_slice(line, line.len - 66,
							    line.len - 2),
						hash),
				 0);
		digest_sha256(bytes_from(prev, DIGEST_LEN), buf_view(&json),
			      wanted);
		assert_memory_equal(hash, wanted, DIGEST_LEN);
	}
}

static void store_bounds_an_answer_in_bytes(void **state)
{
	const struct msg_ledger_query query = {.limit = 64};
	struct fixture *fixture = *state;
	char detail[4001];
	struct msg_ledger_rows rows;
	auto_type(buf_release) struct buf out;

	memset(detail, 'x', sizeof(detail) - 1);
	detail[sizeof(detail) - 1] = '\0';
	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	for (int i = 0; i < 64; i++)
		assert_int_equal(
			add_one(fixture, RECORD_ADMIN, true, "", detail), 0);
	assert_int_equal(store_commit(&fixture->store, &fixture->err), 0);
	rows = ask(fixture, &query);
	assert_true(rows.more);
	assert_in_range(rows.rows_count, 10, 15);
	buf_init(&out, WIRE_MESSAGE_MAX - 8);
	assert_int_equal(wire_encode(&msg_ledger_rows_schema, &rows, &out,
				     &fixture->err),
			 0);
}

/* ---- failures ---- */

static void store_fails_when_the_disk_is_full_and_works_again(void **state)
{
	struct fixture *fixture = *state;
	char detail[4001];
	int failed = 0;

	memset(detail, 'x', sizeof(detail) - 1);
	detail[sizeof(detail) - 1] = '\0';
	add_rows(fixture, 3);
	fixture_sql(fixture, "PRAGMA max_page_count = 20");
	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	for (int i = 0; i < 64 && !failed; i++)
		failed = add_one(fixture, RECORD_ADMIN, true, "", detail);
	assert_int_equal(failed, -1);
	store_rollback(&fixture->store);
	assert_int_equal(fixture->store.head.sequence, 3);
	fixture_sql(fixture, "PRAGMA max_page_count = 1000000");
	add_rows(fixture, 3);
	assert_int_equal(fixture->store.head.sequence, 6);
	assert_true(verify_all(fixture).is_intact);
}

static void store_fails_when_a_write_fails_and_works_again(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before, none;
	struct stat status;

	add_rows(fixture, 3);
	assert_int_equal(
		fstatat(fixture->directory, "ledger.db-wal", &status, 0), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)status.st_size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	(void)add_one(fixture, RECORD_ADMIN, true, "", "not durable");
	assert_int_equal(store_commit(&fixture->store, &fixture->err), -1);
	store_rollback(&fixture->store);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(fixture->store.head.sequence, 3);
	add_rows(fixture, 3);
	fixture_reopen(fixture);
	assert_int_equal(fixture->store.head.sequence, 6);
	assert_true(verify_all(fixture).is_intact);
}

#define STORE_TEST(test)                                                       \
	cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(store_continues_its_chain_after_a_restart),
		STORE_TEST(store_forgets_what_was_not_committed),
		STORE_TEST(store_keeps_every_row_however_many_go_in_together),
		STORE_TEST(store_at_rest_keeps_no_pages_and_goes_on),
		STORE_TEST(store_forgets_a_whole_group_that_was_not_committed),
		STORE_TEST(store_makes_a_file_that_its_owner_alone_can_read),
		STORE_TEST(store_refuses_a_file_that_others_can_read),
		STORE_TEST(store_refuses_a_database_that_is_not_a_ledger),
		STORE_TEST(store_refuses_a_version_that_it_does_not_know),
		STORE_TEST(store_goes_on_with_the_version_before),
		STORE_TEST(store_refuses_a_second_process),
		STORE_TEST(store_keeps_its_log_bounded),
		STORE_TEST(store_answers_each_kind_of_query),
		STORE_TEST(store_finds_a_row_with_its_outcome_by_either_kind),
		STORE_TEST(store_refuses_a_query_that_makes_no_sense),
		STORE_TEST(store_gives_lines_that_anyone_can_check),
		STORE_TEST(store_bounds_an_answer_in_bytes),
		STORE_TEST(store_fails_when_the_disk_is_full_and_works_again),
		STORE_TEST(store_fails_when_a_write_fails_and_works_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
