#include "tests/unit/gateway/ledger/fixture.h"

#include "gateway/ledger/batch.h"

/* What the batch answered. */
static struct {
	uint32_t id[BATCH_ASKS_MAX + 8];
	bool ok[BATCH_ASKS_MAX + 8];
	size_t count;
	int stored;
} answers;

static void note_answer(struct rpc_ticket ticket, const char *why)
{
	answers.id[answers.count] = ticket.id;
	answers.ok[answers.count] = why == NULL;
	answers.count++;
}

static void note_stored(void *owner)
{
	(void)owner;
	answers.stored++;
}

static const struct batch_hooks hooks = {
	.answer = note_answer,
	.on_stored = note_stored,
};

static struct io_loop *loop;
static struct batch batch;

static int setup(void **state)
{
	struct fixture *fixture;

	assert_int_equal(fixture_setup(state), 0);
	fixture = *state;
	memset(&answers, 0, sizeof(answers));
	loop = io_loop_new(&fixture->err);
	assert_non_null(loop);
	return batch_init(&batch, loop, &fixture->store, &hooks, &fixture->err);
}

static int teardown(void **state)
{
	batch_release(&batch);
	io_loop_free(loop);
	return fixture_teardown(state);
}

static void turns(unsigned ms)
{
	uint64_t end = io_loop_now_ms(loop) + ms;
	struct err err;

	do
		assert_int_equal(io_loop_turn(loop, 5, &err), 0);
	while (io_loop_now_ms(loop) < end);
	/* What was due by then, however few turns there was time for. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(io_loop_turn(loop, 0, &err), 0);
}

static struct record request(const char *detail)
{
	return (struct record){
		.time_ms = 1763751600123,
		.kind = RECORD_REQUEST,
		.allowed = true,
		.session = bytes_str("s-said"),
		.detail = bytes_str(detail),
	};
}

static void tell(const char *detail)
{
	const struct record record = request(detail);
	const struct msg_records records = {&record, 1};

	batch_add(&batch, &records, NULL, NULL);
}

static void ask(uint32_t id)
{
	const struct record record = request("awaited");
	const struct msg_records records = {&record, 1};
	const struct rpc_ticket ticket = {.id = id};

	batch_add(&batch, &records, NULL, &ticket);
}

/* The newest row's line. */
static struct bytes newest(struct fixture *fixture)
{
	const struct msg_ledger_query query = {.limit = 1, .newest = true};
	struct msg_ledger_rows rows;

	assert_int_equal(store_query(&fixture->store, &query, &fixture->arena,
				     &rows, &fixture->err),
			 0);
	assert_int_equal(rows.rows_count, 1);
	return rows.rows[0].json;
}

static bool newest_has(struct fixture *fixture, const char *text)
{
	return bytes_find_bytes(newest(fixture), bytes_str(text), 0) >= 0;
}

/* No page more than there is: every write fails. */
static void fill_disk(struct fixture *fixture)
{
	fixture_sql(fixture, "PRAGMA max_page_count = 1");
}

static void empty_disk(struct fixture *fixture)
{
	fixture_sql(fixture, "PRAGMA max_page_count = 1000000");
}

/* Enough rows that the store must grow. */
static void tell_much(size_t count)
{
	char detail[1001];

	memset(detail, 'x', sizeof(detail) - 1);
	detail[sizeof(detail) - 1] = '\0';
	for (size_t i = 0; i < count; i++)
		tell(detail);
}

static void batch_stores_a_turn_in_one_transaction(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t id = 1; id <= 100; id++) {
		tell("untold");
		ask(id);
	}
	assert_int_equal(answers.count, 0);
	assert_int_equal(fixture->store.head.sequence, 0);
	turns(1);
	assert_int_equal(answers.stored, 1);
	assert_int_equal(fixture->store.head.sequence, 200);
	assert_int_equal(answers.count, 100);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(answers.id[i], i + 1);
		assert_true(answers.ok[i]);
	}
}

static void batch_lets_rows_that_nobody_awaits_wait_a_little(void **state)
{
	struct fixture *fixture = *state;
	uint64_t end = io_loop_now_ms(loop) + 30000;

	/* A steady stream must not put the flush off for ever. */
	while (fixture->store.head.sequence == 0 &&
	       io_loop_now_ms(loop) < end) {
		tell("one");
		turns(1);
	}
	assert_true(fixture->store.head.sequence > 0);
}

static void batch_does_not_grow_past_its_bound_of_rows(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < BATCH_ROWS_MAX; i++)
		tell("one");
	assert_int_equal(fixture->store.head.sequence, BATCH_ROWS_MAX);
	assert_int_equal(batch.row_count, 0);
}

static void batch_answers_an_ask_without_records(void **state)
{
	const struct msg_records none = {0};
	const struct rpc_ticket ticket = {.id = 5};

	(void)state;
	batch_add(&batch, &none, NULL, &ticket);
	turns(1);
	assert_int_equal(answers.count, 1);
	assert_true(answers.ok[0]);
}

static void batch_takes_the_session_from_the_channel(void **state)
{
	const struct record record = request("forged");
	const struct msg_records records = {&record, 1};
	struct fixture *fixture = *state;

	batch_add(&batch, &records, "s-channel", NULL);
	assert_int_equal(batch_flush(&batch), 0);
	assert_true(newest_has(fixture, "\"session\":\"s-channel\""));
	assert_false(newest_has(fixture, "s-said"));
	/* The twin: who is no edge names the session. */
	batch_add(&batch, &records, NULL, NULL);
	assert_int_equal(batch_flush(&batch), 0);
	assert_true(newest_has(fixture, "\"session\":\"s-said\""));
}

static void batch_does_not_believe_in_the_future(void **state)
{
	struct record record = request("later");
	const struct msg_records records = {&record, 1};
	struct fixture *fixture = *state;

	record.time_ms = UINT64_MAX;
	batch_add(&batch, &records, NULL, NULL);
	assert_int_equal(batch_flush(&batch), 0);
	assert_true(newest_has(fixture, "\"time\":\"20"));
	assert_true(verify_all(fixture).is_intact);
}

static void batch_refuses_asks_while_the_disk_is_full(void **state)
{
	struct fixture *fixture = *state;
	char failing[BATCH_FAILING_MAX];
	uint64_t before;

	tell("before");
	assert_int_equal(batch_flush(&batch), 0);
	batch_failing(&batch, failing);
	assert_string_equal(failing, "");
	fill_disk(fixture);
	tell_much(50);
	ask(1);
	turns(1);
	assert_int_equal(answers.count, 1);
	assert_false(answers.ok[0]);
	ask(2);
	assert_int_equal(answers.count, 2);
	assert_false(answers.ok[1]);
	before = fixture->store.head.sequence;
	assert_int_equal(before, 1);
	batch_failing(&batch, failing);
	assert_non_null(strstr(failing, "full"));
	assert_non_null(strstr(failing, "2 refused, 0 lost"));

	/* Cured: within a second all that happened is stored, and no row of
	 * what was refused. */
	empty_disk(fixture);
	turns(2 * BATCH_RETRY_MS);
	batch_failing(&batch, failing);
	assert_string_equal(failing, "");
	assert_int_equal(fixture->store.head.sequence, before + 50 + 1);
	assert_true(newest_has(fixture, "audit_unavailable"));
	assert_true(newest_has(fixture, "2 refused, 0 lost"));
	ask(3);
	turns(1);
	assert_true(answers.ok[2]);
	assert_true(verify_all(fixture).is_intact);
}

static void batch_counts_what_it_lost_and_says_so(void **state)
{
	struct fixture *fixture = *state;
	const size_t many = BATCH_BYTES_MAX / 1000 + 100;
	char counted[64];

	tell("before");
	assert_int_equal(batch_flush(&batch), 0);
	fill_disk(fixture);
	tell_much(many);
	assert_true(batch.lost > 0);
	assert_true(batch.bytes <= BATCH_BYTES_MAX + ROW_JSON_MAX);
	(void)snprintf(counted, sizeof(counted), "0 refused, %llu lost",
		       (unsigned long long)batch.lost);
	empty_disk(fixture);
	turns(2 * BATCH_RETRY_MS);
	assert_int_equal(batch.lost, 0);
	assert_true(newest_has(fixture, counted));
	assert_true(newest_has(fixture, "\"allowed\":false"));
	assert_true(verify_all(fixture).is_intact);
}

/* ---- an outcome and its decision ---- */

static void tell_request(enum record_kind kind, const char *id, uint16_t status)
{
	struct record record = request("");
	const struct msg_records records = {&record, 1};

	record.kind = (uint8_t)kind;
	record.request_id = bytes_str(id);
	record.status = status;
	batch_add(&batch, &records, "s-channel", NULL);
}

static void batch_writes_an_outcome_into_its_decisions_row(void **state)
{
	struct fixture *fixture = *state;

	tell_request(RECORD_REQUEST, "r-1", 0);
	tell_request(RECORD_REQUEST, "r-2", 0);
	tell_request(RECORD_RESPONSE, "r-2", 204);
	tell_request(RECORD_RESPONSE, "r-1", 200);
	assert_int_equal(batch_flush(&batch), 0);
	assert_int_equal(fixture->store.head.sequence, 2);
	assert_true(newest_has(fixture, "\"activity\":\"request\""));
	assert_true(
		newest_has(fixture, "\"ended\":\"2025-11-21T19:00:00.123Z\""));
	assert_true(newest_has(fixture, "\"request_id\":\"r-2\""));
	assert_true(newest_has(fixture, "\"status\":204"));
	assert_true(verify_all(fixture).is_intact);
}

static void
batch_gives_an_outcome_a_row_once_its_decision_is_stored(void **state)
{
	struct fixture *fixture = *state;

	tell_request(RECORD_REQUEST, "r-1", 0);
	assert_int_equal(batch_flush(&batch), 0);
	assert_false(newest_has(fixture, "\"ended\""));
	tell_request(RECORD_RESPONSE, "r-1", 200);
	assert_int_equal(batch_flush(&batch), 0);
	assert_int_equal(fixture->store.head.sequence, 2);
	assert_true(newest_has(fixture, "\"activity\":\"response\""));
	assert_true(newest_has(fixture, "\"status\":200"));
}

static void batch_joins_nothing_to_what_somebody_waits_for(void **state)
{
	struct record record = request("");
	const struct msg_records records = {&record, 1};
	const struct rpc_ticket ticket = {.id = 7};
	struct fixture *fixture = *state;

	record.request_id = bytes_str("r-1");
	batch_add(&batch, &records, "s-channel", &ticket);
	tell_request(RECORD_RESPONSE, "r-1", 200);
	assert_int_equal(batch_flush(&batch), 0);
	assert_int_equal(fixture->store.head.sequence, 2);
	assert_true(newest_has(fixture, "\"activity\":\"response\""));
}

static void batch_keeps_a_joined_row_while_the_disk_is_full(void **state)
{
	struct fixture *fixture = *state;

	tell("before");
	assert_int_equal(batch_flush(&batch), 0);
	fill_disk(fixture);
	tell_much(50);
	tell_request(RECORD_REQUEST, "r-1", 0);
	assert_int_equal(batch_flush(&batch), -1);
	tell_request(RECORD_REQUEST, "r-2", 0);
	tell_request(RECORD_RESPONSE, "r-2", 200);
	tell_request(RECORD_RESPONSE, "r-1", 201);
	empty_disk(fixture);
	turns(2 * BATCH_RETRY_MS);
	/* 50, a request, one with its outcome, an outcome, the account. */
	assert_int_equal(fixture->store.head.sequence, 1 + 50 + 3 + 1);
	assert_true(newest_has(fixture, "0 refused, 0 lost"));
	assert_true(verify_all(fixture).is_intact);
}

#define BATCH_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BATCH_TEST(batch_stores_a_turn_in_one_transaction),
		BATCH_TEST(batch_lets_rows_that_nobody_awaits_wait_a_little),
		BATCH_TEST(batch_does_not_grow_past_its_bound_of_rows),
		BATCH_TEST(batch_answers_an_ask_without_records),
		BATCH_TEST(batch_takes_the_session_from_the_channel),
		BATCH_TEST(batch_does_not_believe_in_the_future),
		BATCH_TEST(batch_refuses_asks_while_the_disk_is_full),
		BATCH_TEST(batch_counts_what_it_lost_and_says_so),
		BATCH_TEST(batch_writes_an_outcome_into_its_decisions_row),
		BATCH_TEST(
			batch_gives_an_outcome_a_row_once_its_decision_is_stored),
		BATCH_TEST(batch_joins_nothing_to_what_somebody_waits_for),
		BATCH_TEST(batch_keeps_a_joined_row_while_the_disk_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
