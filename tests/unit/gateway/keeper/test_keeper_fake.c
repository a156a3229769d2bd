#include "tests/unit/gateway/keeper/rig.h"

#include "gateway/keeper/records.h"

static void tear_down(struct rig *rig)
{
	rpc_close(rig->warden);
	fake_run(rig->keeper.loop);
	session_table_release(&rig->keeper.sessions);
	io_loop_free(rig->keeper.loop);
	fake_reset_all();
}

static void open_session(struct rig *rig)
{
	static const uint8_t lease[DIGEST_LEN] = {1};
	const struct wire_empty empty = {0};
	const struct session_package package = {
		.id = bytes_str("s-1"),
		.expires_ms = 1000,
		.lease_hash = bytes_from(lease, sizeof(lease)),
	};
	struct err err;
	int fd = package_seal(&package, &err);

	assert_true(fd >= 0);
	rig_tell(rig, MSG_SESSION_OPEN, &wire_empty_schema, &empty, fd);
}

static void on_answered(struct rpc_outcome *outcome, void *owner)
{
	bool *answered = owner;

	*answered = outcome->err == NULL;
}

static void ask_close(struct rig *rig, const char *id, bool *answered)
{
	const struct msg_session_ref ref = {
		.id = bytes_str(id),
		.reason = bytes_str("revoked"),
	};
	const struct rpc_call call = {
		.type = MSG_SESSION_CLOSE,
		.schema = &msg_session_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = 1000,
		.on_outcome = on_answered,
		.owner = answered,
	};
	struct err err;

	*answered = false;
	assert_int_equal(rpc_ask(rig->warden, &call, NULL, &err), 0);
	fake_run(rig->keeper.loop);
}

static void close_session(struct rig *rig, const char *id)
{
	bool answered;

	ask_close(rig, id, &answered);
	assert_true(answered);
}

static void keeper_opens_and_closes_the_sessions_it_is_given(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	open_session(&rig);
	assert_int_equal(rig.opened, 1);
	assert_non_null(session_find(&rig.keeper.sessions, bytes_str("s-1")));
	close_session(&rig, "s-1");
	assert_int_equal(rig.closed, 1);
	assert_string_equal(rig.reason, "revoked");
	assert_null(session_find(&rig.keeper.sessions, bytes_str("s-1")));
	tear_down(&rig);
}

static void keeper_answers_for_a_session_it_never_had(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	close_session(&rig, "s-other");
	assert_int_equal(rig.closed, 0);
	tear_down(&rig);
}

/* A keeper of that role whose ledger does not read what it is told: more than
 * the channel holds. How many records. */
static size_t set_up_unread(struct rig *rig, struct keeper_spec *spec,
			    enum role role)
{
	const struct record record = {.kind = RECORD_REQUEST,
				      .path = bytes_str("/unread")};
	size_t told = 0;

	rig_set_up(rig);
	*spec = rig_spec;
	spec->role = role;
	rig->keeper.spec = spec;
	open_session(rig);
	rig->ledger = rig_peer(rig, ROLE_LEDGER);
	rpc_rest(rig->ledger, true);
	for (; told < 100000 && !keeper_records_are_left(&rig->keeper);
	     told++) {
		assert_int_equal(keeper_record(&rig->keeper, &record), 0);
		keeper_records_flush(&rig->keeper);
	}
	assert_in_range(told, 2, 99999);
	return told;
}

static void tear_down_unread(struct rig *rig)
{
	rpc_close(rig->ledger);
	fake_run(rig->keeper.loop);
	keeper_records_release(&rig->keeper);
	tear_down(rig);
}

static void
edge_has_closed_its_session_when_the_ledger_has_the_records(void **state)
{
	struct keeper_spec spec;
	struct rig rig;
	size_t told;
	bool answered;

	(void)state;
	told = set_up_unread(&rig, &spec, ROLE_EDGE);
	ask_close(&rig, "s-1", &answered);
	fake_advance(rig.keeper.loop, KEEPER_CLOSE_MS / 2);
	assert_int_equal(rig.closed, 1);
	assert_false(answered);
	rpc_rest(rig.ledger, false);
	fake_advance(rig.keeper.loop, KEEPER_CLOSE_MS / 4);
	assert_true(answered);
	assert_int_equal(rig.records, told);
	/* It is as any other again. */
	close_session(&rig, "s-1");
	tear_down_unread(&rig);
}

static void edge_has_closed_its_session_when_the_ledger_hangs(void **state)
{
	struct keeper_spec spec;
	struct rig rig;
	bool answered;

	(void)state;
	(void)set_up_unread(&rig, &spec, ROLE_EDGE);
	ask_close(&rig, "s-1", &answered);
	fake_advance(rig.keeper.loop, KEEPER_CLOSE_MS - 1);
	assert_false(answered);
	/* A second question of that kind waits for nothing. */
	close_session(&rig, "s-1");
	fake_advance(rig.keeper.loop, KEEPER_CLOSE_MS);
	assert_true(answered);
	tear_down_unread(&rig);
}

static void keeper_that_outlives_a_session_closes_it_at_once(void **state)
{
	struct keeper_spec spec;
	struct rig rig;

	(void)state;
	(void)set_up_unread(&rig, &spec, ROLE_DIALER);
	close_session(&rig, "s-1");
	tear_down_unread(&rig);
}

static void keeper_refuses_a_package_that_is_none(void **state)
{
	const struct wire_empty empty = {0};
	struct err err;
	struct rig rig;
	int fd = wire_memfd_seal("not-a-package", bytes_str("hello"), &err);

	(void)state;
	assert_true(fd >= 0);
	rig_set_up(&rig);
	rig_tell(&rig, MSG_SESSION_OPEN, &wire_empty_schema, &empty, fd);
	assert_int_equal(rig.opened, 0);
	/* And goes on. */
	open_session(&rig);
	assert_int_equal(rig.opened, 1);
	tear_down(&rig);
}

static void dial(struct rig *rig, struct rpc *rpc)
{
	const struct msg_dial message = {.host = bytes_str("a"), .port = 1};
	struct err err;

	(void)rpc_tell(rpc, MSG_DIAL, &msg_dial_schema, &message, -1, &err);
	fake_run(rig->keeper.loop);
}

static void keeper_answers_a_peer_by_its_role(void **state)
{
	struct rpc *edge, *minter;
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	edge = rig_peer(&rig, ROLE_EDGE);
	dial(&rig, edge);
	assert_int_equal(rig.echoes, 1);
	/* Another role has no permit for the same message. */
	minter = rig_peer(&rig, ROLE_MINTER);
	dial(&rig, minter);
	assert_int_equal(rig.echoes, 1);
	assert_int_equal(rig.peers_closed, 1);
	/* Its channel alone is closed. */
	dial(&rig, edge);
	assert_int_equal(rig.echoes, 2);
	rpc_close(edge);
	tear_down(&rig);
}

static void keeper_speaks_to_the_newest_peer_of_a_role(void **state)
{
	struct rpc *first, *second;
	struct keeper_peer *peer;
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	first = rig_peer(&rig, ROLE_MINTER);
	peer = keeper_peer_of(&rig.keeper, ROLE_MINTER);
	second = rig_peer(&rig, ROLE_MINTER);
	assert_ptr_not_equal(keeper_peer_of(&rig.keeper, ROLE_MINTER), peer);
	rpc_close(second);
	fake_run(rig.keeper.loop);
	assert_ptr_equal(keeper_peer_of(&rig.keeper, ROLE_MINTER), peer);
	rpc_close(first);
	fake_run(rig.keeper.loop);
	assert_null(keeper_peer_of(&rig.keeper, ROLE_MINTER));
	assert_int_equal(rig.peers, 2);
	assert_int_equal(rig.peers_closed, 2);
	tear_down(&rig);
}

static void keeper_drops_a_peer_that_broke_the_rules(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	(void)rig_peer(&rig, ROLE_EDGE);
	keeper_drop_peer(keeper_peer_of(&rig.keeper, ROLE_EDGE), "a test");
	fake_run(rig.keeper.loop);
	assert_int_equal(rig.peers_closed, 1);
	assert_int_equal(rig.keeper.peer_count, 0);
	tear_down(&rig);
}

static void keeper_closes_a_listener_that_nobody_asked_for(void **state)
{
	const struct msg_listener message = {.kind = LISTENER_TCP};
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	/* fake_reset_all() finds it when it stays open. */
	rig_tell(&rig, MSG_LISTENER, &msg_listener_schema, &message,
		 fake_listener());
	tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			keeper_opens_and_closes_the_sessions_it_is_given),
		cmocka_unit_test(keeper_answers_for_a_session_it_never_had),
		cmocka_unit_test(
			edge_has_closed_its_session_when_the_ledger_has_the_records),
		cmocka_unit_test(
			edge_has_closed_its_session_when_the_ledger_hangs),
		cmocka_unit_test(
			keeper_that_outlives_a_session_closes_it_at_once),
		cmocka_unit_test(keeper_refuses_a_package_that_is_none),
		cmocka_unit_test(keeper_answers_a_peer_by_its_role),
		cmocka_unit_test(keeper_speaks_to_the_newest_peer_of_a_role),
		cmocka_unit_test(keeper_drops_a_peer_that_broke_the_rules),
		cmocka_unit_test(
			keeper_closes_a_listener_that_nobody_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
