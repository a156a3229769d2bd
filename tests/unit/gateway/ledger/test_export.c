#include "gateway/ledger/export.h"

#include <string.h>

#include "gateway/ledger/retain.h"
#include "tests/unit/gateway/ledger/fixture.h"

#define TIME_MS	 1763751600123 /* of the fixture's rows */
#define LIMIT_MS 30000

static struct keeper keeper;
static struct exports exports;
static struct batch batch;
static struct config_export target;
static char path[96];

/* The warden: opens the path, or refuses. */
static struct {
	struct rpc *rpc;
	bool refuses;
	unsigned asked;
} warden;

static void answer_open(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct msg_export_ref *ref = message;
	const struct wire_empty empty = {0};
	auto_fd int opened = -1;

	(void)fd;
	(void)owner;
	warden.asked++;
	assert_true(bytes_is(ref->path, path));
	if (warden.refuses) {
		rpc_refuse(ticket, CONSTRAINT_audit_unavailable, "no disk");
		return;
	}
	opened = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	rpc_reply(ticket, &wire_empty_schema, &empty, opened);
}

static void on_stored(void *owner)
{
	exports_wake(owner);
}

static const struct batch_hooks hooks = {
	.on_stored = on_stored,
	.owner = &exports,
};

static int setup(void **state)
{
	static const struct rpc_permit permits[] = {
		{MSG_EXPORT_OPEN, &msg_export_ref_schema, answer_open, false,
		 0},
	};
	const struct rpc_config none = {0};
	const struct rpc_config serves = {.permits = permits,
					  .permit_count = 1};
	struct fixture *fixture;
	int fds[2];

	assert_int_equal(fixture_setup(state), 0);
	fixture = *state;
	(void)snprintf(path, sizeof(path), "%s/rows", fixture->path);
	target.path = bytes_str(path);
	memset(&warden, 0, sizeof(warden));
	keeper = (struct keeper){
		.loop = io_loop_new(&fixture->err),
		.config = {.audit_exports = &target, .audit_exports_count = 1},
	};
	assert_int_equal(io_message_pair(fds, &fixture->err), 0);
	keeper.warden = rpc_new(keeper.loop, fds[0], &none, &fixture->err);
	warden.rpc = rpc_new(keeper.loop, fds[1], &serves, &fixture->err);
	assert_int_equal(batch_init(&batch, keeper.loop, &fixture->store,
				    &hooks, &fixture->err),
			 0);
	exports = (struct exports){
		.keeper = &keeper, .store = &fixture->store, .batch = &batch};
	assert_int_equal(exports_prepare(&fixture->store, &fixture->err), 0);
	return exports_start(&exports, &fixture->err);
}

static int teardown(void **state)
{
	struct err err;

	exports_finish(&exports);
	rpc_close(keeper.warden);
	rpc_close(warden.rpc);
	assert_int_equal(io_loop_turn(keeper.loop, 1, &err), 0);
	io_timer_free(exports.timer);
	batch_release(&batch);
	io_loop_free(keeper.loop);
	(void)unlink(path);
	return fixture_teardown(state);
}

static void stored(struct fixture *fixture, size_t count)
{
	add_rows(fixture, count);
	exports_wake(&exports);
}

static void turn(void)
{
	struct err err;

	assert_int_equal(io_loop_turn(keeper.loop, 5, &err), 0);
}

/* Wait until the record's last row is told. */
static void wait_for_all(struct fixture *fixture)
{
	uint64_t limit = io_loop_now_ms(keeper.loop) + LIMIT_MS;

	while (exports.items[0].file.told < fixture->store.head.sequence) {
		assert_true(io_loop_now_ms(keeper.loop) < limit);
		turn();
	}
}

/* Wait until a row says so. */
static void wait_for_row(struct fixture *fixture, const char *text)
{
	const struct msg_ledger_query query = {.newest = true,
					       .limit = STORE_ROWS_MAX};
	uint64_t limit = io_loop_now_ms(keeper.loop) + LIMIT_MS;
	bool is_there = false;

	while (!is_there) {
		auto_type(arena_release) struct arena arena;
		struct msg_ledger_rows rows;

		arena_init(&arena, 1 << 20);
		assert_true(io_loop_now_ms(keeper.loop) < limit);
		turn();
		assert_int_equal(store_query(&fixture->store, &query, &arena,
					     &rows, &fixture->err),
				 0);
		for (size_t i = 0; i < rows.rows_count; i++)
			if (memmem(rows.rows[i].json.data,
				   rows.rows[i].json.len, text, strlen(text)))
				is_there = true;
	}
}

/* How many lines the file has, and the number in its first. */
static size_t count_lines(unsigned long *first)
{
	size_t lines = 0;
	FILE *stream = fopen(path, "re");
	int c;

	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "{\"sequence\":%lu", first), 1);
	while ((c = getc(stream)) != EOF)
		lines += c == '\n';
	assert_int_equal(fclose(stream), 0);
	return lines;
}

static void rows_are_written_as_they_are_stored(void **state)
{
	struct fixture *fixture = *state;
	unsigned long first;

	stored(fixture, 5);
	wait_for_all(fixture);
	/* However slow the machine is. */
	exports.items[0].check_ms = UINT64_MAX;
	/* Many more than are written at once. */
	stored(fixture, 2 * EXPORT_WRITES_MAX * STORE_ROWS_MAX);
	wait_for_all(fixture);
	assert_int_equal(count_lines(&first), fixture->store.head.sequence);
	assert_int_equal(first, 1);
	assert_int_equal(warden.asked, 1);
}

static void a_failure_is_on_record_and_nothing_is_lost(void **state)
{
	struct fixture *fixture = *state;
	unsigned long first;

	warden.refuses = true;
	stored(fixture, 5);
	wait_for_row(fixture, "rows: no disk");
	assert_int_equal(exports.items[0].file.told, 0);
	warden.refuses = false;
	exports.items[0].due_ms = 0;
	stored(fixture, 5);
	wait_for_row(fixture, "rows: it goes on");
	wait_for_all(fixture);
	assert_int_equal(count_lines(&first), 12);
	assert_int_equal(first, 1);
}

static void a_file_that_was_moved_away_is_followed_by_another(void **state)
{
	struct fixture *fixture = *state;
	unsigned long first;
	char moved[112];

	(void)snprintf(moved, sizeof(moved), "%s.1", path);
	stored(fixture, 5);
	wait_for_all(fixture);
	assert_int_equal(rename(path, moved), 0);
	exports.items[0].check_ms = 0;
	stored(fixture, 5);
	wait_for_all(fixture);
	assert_int_equal(count_lines(&first), 5);
	assert_int_equal(first, 6);
	/* Also when the process ended in between. */
	exports_finish(&exports);
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(rename(path, moved), 0);
	fixture_reopen(fixture);
	assert_int_equal(exports_start(&exports, &fixture->err), 0);
	stored(fixture, 5);
	wait_for_all(fixture);
	assert_int_equal(count_lines(&first), 5);
	assert_int_equal(first, 11);
	assert_int_equal(unlink(moved), 0);
}

static void rows_that_were_removed_before_are_counted(void **state)
{
	struct fixture *fixture = *state;
	unsigned long first;

	stored(fixture, 5);
	wait_for_all(fixture);
	warden.refuses = true;
	exports.items[0].check_ms = 0;
	stored(fixture, 5);
	wait_for_row(fixture, "no disk");
	assert_int_equal(retain_cut(&fixture->store, TIME_MS + 1,
				    TIME_MS + 1000, &fixture->err),
			 10);
	warden.refuses = false;
	exports.items[0].due_ms = 0;
	exports_wake(&exports);
	wait_for_row(fixture, "rows 6 to 10 were removed before it had them");
	wait_for_all(fixture);
	assert_int_equal(count_lines(&first),
			 5 + fixture->store.head.sequence - 10);
}

static void an_export_that_is_new_begins_with_what_is_left(void **state)
{
	struct fixture *fixture = *state;
	unsigned long first;

	add_rows(fixture, 10);
	assert_int_equal(retain_cut(&fixture->store, TIME_MS + 1,
				    TIME_MS + 1000, &fixture->err),
			 10);
	exports_wake(&exports);
	wait_for_all(fixture);
	/* The row that tells of the cut alone. */
	assert_int_equal(count_lines(&first), 1);
	assert_int_equal(first, 11);
}

#define EXPORT_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPORT_TEST(rows_are_written_as_they_are_stored),
		EXPORT_TEST(a_failure_is_on_record_and_nothing_is_lost),
		EXPORT_TEST(a_file_that_was_moved_away_is_followed_by_another),
		EXPORT_TEST(rows_that_were_removed_before_are_counted),
		EXPORT_TEST(an_export_that_is_new_begins_with_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
