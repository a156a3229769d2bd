#include "tests/unit/gateway/keeper/rig.h"

#include "gateway/keeper/records.h"

static const struct record small = {
	.kind = RECORD_REQUEST,
	.path = BYTES_LITERAL("/small"),
};

static void tear_down(struct rig *rig)
{
	if (!rig->ledger)
		rig->ledger = rig_peer(rig, ROLE_LEDGER);
	rpc_close(rig->ledger);
	rpc_close(rig->warden);
	fake_run(rig->keeper.loop);
	assert_null(rig->keeper.peers);
	keeper_records_release(&rig->keeper);
	io_loop_free(rig->keeper.loop);
	fake_reset_all();
}

static void records_of_a_turn_travel_together(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	for (int i = 0; i < 10; i++)
		assert_int_equal(keeper_record(&rig.keeper, &small), 0);
	assert_int_equal(rig.messages, 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.messages, 1);
	assert_int_equal(rig.records, 10);
	assert_string_equal(rig.path, "/small");
	assert_true(rig.last.time_ms > 0);
	tear_down(&rig);
}

static void outcomes_wait_a_moment_for_company(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(keeper_record_outcome(&rig.keeper, &small), 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.messages, 0);
	assert_int_equal(keeper_record(&rig.keeper, &small), 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.messages, 1);
	assert_int_equal(rig.records, 2);
	/* Nobody came: it goes alone. */
	assert_int_equal(keeper_record_outcome(&rig.keeper, &small), 0);
	fake_advance(rig.keeper.loop, KEEPER_OUTCOME_MS);
	assert_int_equal(rig.messages, 2);
	assert_int_equal(keeper_record_outcome(&rig.keeper, &small), 0);
	fake_advance(rig.keeper.loop, KEEPER_OUTCOME_MS);
	assert_int_equal(rig.messages, 3);
	assert_int_equal(rig.records, 4);
	tear_down(&rig);
}

static void records_are_split_into_messages_that_fit(void **state)
{
	static char path[2048];
	const struct record large = {
		.kind = RECORD_REQUEST,
		.path = bytes_from(path, sizeof(path)),
	};
	struct rig rig;

	(void)state;
	memset(path, 'p', sizeof(path));
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	for (int i = 0; i < 300; i++)
		assert_int_equal(keeper_record(&rig.keeper, &large), 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.records, 300);
	assert_true(rig.messages >= 300 * 2048 / 65536);
	tear_down(&rig);
}

static void records_wait_for_a_ledger_that_is_away(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	for (int i = 0; i < 200; i++)
		assert_int_equal(keeper_record(&rig.keeper, &small), 0);
	fake_run(rig.keeper.loop);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(rig.records, 200);
	tear_down(&rig);
}

static void records_wait_within_a_bound(void **state)
{
	static char path[2048];
	const struct record large = {
		.kind = RECORD_REQUEST,
		.path = bytes_from(path, sizeof(path)),
	};
	size_t kept = 0;
	struct rig rig;

	(void)state;
	memset(path, 'p', sizeof(path));
	rig_set_up(&rig);
	while (kept < 10000 && keeper_record(&rig.keeper, &large) == 0)
		kept++;
	assert_in_range(kept * sizeof(path), KEEPER_RECORDS_MAX / 2,
			KEEPER_RECORDS_MAX + 4096);
	/* And none of them is lost, nor is there no room afterwards. */
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(rig.records, kept);
	assert_int_equal(keeper_record(&rig.keeper, &large), 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.records, kept + 1);
	tear_down(&rig);
}

/* What the ledger's socket has is not lost with this process; what waits for
 * room in it is. */
static void records_that_found_no_room_in_the_socket_are_many(void **state)
{
	static char path[2048];
	const struct record large = {
		.kind = RECORD_REQUEST,
		.path = bytes_from(path, sizeof(path)),
	};
	const size_t waiting = KEEPER_RECORDS_MANY / sizeof(path);
	size_t kept = 0;
	struct rig rig;

	(void)state;
	memset(path, 'p', sizeof(path));
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	rpc_rest(rig.ledger, true);
	for (; kept < 256; kept++) {
		assert_int_equal(keeper_record(&rig.keeper, &large), 0);
		keeper_records_flush(&rig.keeper);
		assert_false(keeper_records_are_many(&rig.keeper));
	}
	assert_false(keeper_records_are_left(&rig.keeper));
	while (!keeper_records_are_many(&rig.keeper)) {
		assert_int_equal(keeper_record(&rig.keeper, &large), 0);
		keeper_records_flush(&rig.keeper);
		kept++;
	}
	assert_in_range(kept, 256 + waiting / 2, 256 + waiting);
	rpc_rest(rig.ledger, false);
	fake_run(rig.keeper.loop);
	assert_false(keeper_records_are_many(&rig.keeper));
	assert_int_equal(rig.records, kept);
	tear_down(&rig);
}

static void records_are_cut_and_cleaned_for_the_wire(void **state)
{
	static char path[5000];
	const struct record dirty = {
		.kind = RECORD_REQUEST,
		.path = bytes_from(path, sizeof(path)),
		.detail = bytes_str("a\nb\x01\xff"),
	};
	struct rig rig;

	(void)state;
	memset(path, 'p', sizeof(path));
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(keeper_record(&rig.keeper, &dirty), 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.last.path.len, 2048);
	assert_string_equal(rig.detail, "a?b??");
	tear_down(&rig);
}

/* ---- durable ---- */

struct outcome {
	unsigned calls;
	bool ok;
};

static void on_durable(bool ok, void *owner)
{
	struct outcome *outcome = owner;

	outcome->calls++;
	outcome->ok = ok;
}

static void durable_record_is_told_when_it_is_on_disk(void **state)
{
	const struct wire_empty empty = {0};
	struct outcome outcome = {0};
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(keeper_record_durable(&rig.keeper, &small, on_durable,
					       &outcome),
			 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(outcome.calls, 0);
	rpc_reply(rig.durable, &wire_empty_schema, &empty, -1);
	fake_run(rig.keeper.loop);
	assert_int_equal(outcome.calls, 1);
	assert_true(outcome.ok);
	tear_down(&rig);
}

static void durable_record_follows_what_waits(void **state)
{
	struct outcome outcome = {0};
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(keeper_record(&rig.keeper, &small), 0);
	assert_int_equal(keeper_record_durable(&rig.keeper, &small, on_durable,
					       &outcome),
			 0);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.records, 1);
	assert_non_null(rig.durable.rpc);
	rpc_refuse(rig.durable, 0, "disk full");
	fake_run(rig.keeper.loop);
	assert_int_equal(outcome.calls, 1);
	assert_false(outcome.ok);
	tear_down(&rig);
}

/* The order of the chain is the order in which things happened. */
static void durable_record_does_not_pass_what_found_no_room(void **state)
{
	static char path[2048];
	const struct record large = {
		.kind = RECORD_REQUEST,
		.path = bytes_from(path, sizeof(path)),
	};
	struct outcome outcome = {0};
	size_t kept = 0;
	struct rig rig;

	(void)state;
	memset(path, 'p', sizeof(path));
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	rpc_rest(rig.ledger, true);
	for (; kept < 10000 && rig.keeper.records.bytes == 0; kept++) {
		assert_int_equal(keeper_record(&rig.keeper, &large), 0);
		keeper_records_flush(&rig.keeper);
	}
	assert_true(rig.keeper.records.bytes > 0);
	assert_int_equal(keeper_record_durable(&rig.keeper, &small, on_durable,
					       &outcome),
			 -1);
	rpc_rest(rig.ledger, false);
	fake_run(rig.keeper.loop);
	fake_advance(rig.keeper.loop, KEEPER_OUTCOME_MS);
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.records, kept);
	assert_null(rig.durable.rpc);
	assert_int_equal(outcome.calls, 0);
	assert_int_equal(keeper_record_durable(&rig.keeper, &small, on_durable,
					       &outcome),
			 0);
	fake_run(rig.keeper.loop);
	assert_non_null(rig.durable.rpc);
	rpc_refuse(rig.durable, 0, "over");
	fake_run(rig.keeper.loop);
	tear_down(&rig);
}

static void durable_record_fails_after_five_seconds(void **state)
{
	const struct wire_empty empty = {0};
	struct outcome outcome = {0};
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(keeper_record_durable(&rig.keeper, &small, on_durable,
					       &outcome),
			 0);
	fake_advance(rig.keeper.loop, 4999);
	assert_int_equal(outcome.calls, 0);
	fake_advance(rig.keeper.loop, 2);
	assert_int_equal(outcome.calls, 1);
	assert_false(outcome.ok);
	rpc_reply(rig.durable, &wire_empty_schema, &empty, -1);
	fake_run(rig.keeper.loop);
	assert_int_equal(outcome.calls, 1);
	tear_down(&rig);
}

static void durable_record_fails_at_once_without_a_ledger(void **state)
{
	struct outcome outcome = {0};
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	assert_int_equal(keeper_record_durable(&rig.keeper, &small, on_durable,
					       &outcome),
			 -1);
	fake_run(rig.keeper.loop);
	assert_int_equal(outcome.calls, 0);
	tear_down(&rig);
}

static void durable_record_fails_when_the_ledger_goes_away(void **state)
{
	struct outcome outcome = {0};
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig.ledger = rig_peer(&rig, ROLE_LEDGER);
	assert_int_equal(keeper_record_durable(&rig.keeper, &small, on_durable,
					       &outcome),
			 0);
	fake_run(rig.keeper.loop);
	rpc_close(rig.ledger);
	rpc_refuse(rig.durable, 0, "gone");
	rig.ledger = NULL;
	fake_run(rig.keeper.loop);
	assert_int_equal(outcome.calls, 1);
	assert_false(outcome.ok);
	tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_a_turn_travel_together),
		cmocka_unit_test(outcomes_wait_a_moment_for_company),
		cmocka_unit_test(records_are_split_into_messages_that_fit),
		cmocka_unit_test(records_wait_for_a_ledger_that_is_away),
		cmocka_unit_test(records_wait_within_a_bound),
		cmocka_unit_test(
			records_that_found_no_room_in_the_socket_are_many),
		cmocka_unit_test(records_are_cut_and_cleaned_for_the_wire),
		cmocka_unit_test(durable_record_is_told_when_it_is_on_disk),
		cmocka_unit_test(durable_record_follows_what_waits),
		cmocka_unit_test(
			durable_record_does_not_pass_what_found_no_room),
		cmocka_unit_test(durable_record_fails_after_five_seconds),
		cmocka_unit_test(durable_record_fails_at_once_without_a_ledger),
		cmocka_unit_test(
			durable_record_fails_when_the_ledger_goes_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
