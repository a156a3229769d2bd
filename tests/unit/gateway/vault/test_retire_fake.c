/*
 * The end of tokens that were replaced, over the fake io: the test plays the
 * exchange.
 */
#include "tests/unit/gateway/vault/fixture.h"

#include <utlist.h>

#include "common/io_fake.h"
#include "gateway/keeper/records.h"
#include "gateway/vault/retire.h"

/* The cases of uthash's function fall through on purpose. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

static const struct config_source source = {
	.name = BYTES_LITERAL("app"),
	.kind = SOURCE_GITHUB_APP,
};

struct rig {
	struct keeper keeper;
	struct keeper_spec spec;
	struct vault vault;
	struct rpc *exchange; /* the test's end */
	unsigned ended;
	char token[64]; /* that was ended last */
	bool holds;	/* its answers back: in tickets */
	struct rpc_ticket tickets[2 * REVOKE_AT_ONCE];
	size_t held;
};

static void on_end(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	const struct msg_token_end *end = message;
	const struct wire_empty empty = {0};
	struct rig *rig = owner;

	(void)fd;
	assert_true(bytes_is(end->name, "app"));
	rig->ended++;
	(void)snprintf(rig->token, sizeof(rig->token), "%.*s",
		       BYTES_ARGS(end->token));
	if (rig->holds) {
		assert_true(rig->held < ARRAY_SIZE(rig->tickets));
		rpc_ticket_hold(ticket);
		rig->tickets[rig->held++] = ticket;
		return;
	}
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void answer_held(struct rig *rig)
{
	const struct wire_empty empty = {0};
	size_t held = rig->held;

	rig->held = 0;
	for (size_t i = 0; i < held; i++)
		rpc_reply(rig->tickets[i], &wire_empty_schema, &empty, -1);
	fake_run(rig->keeper.loop);
}

static int setup(void **state)
{
	static const struct rpc_permit permit = {
		MSG_TOKEN_END, &msg_token_end_schema, on_end, false, 0};
	static struct keeper_peer peer;
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct rpc_config none = {.owner = rig};
	const struct rpc_config config = {
		.permits = &permit, .permit_count = 1, .owner = rig};
	struct err err;
	int fds[2];

	rig->keeper.loop = io_loop_new(&err);
	rig->keeper.spec = &rig->spec;
	rig->vault.keeper = &rig->keeper;
	peer = (struct keeper_peer){.keeper = &rig->keeper,
				    .role = ROLE_EXCHANGE};
	assert_int_equal(io_message_pair(fds, &err), 0);
	peer.rpc = rpc_new(rig->keeper.loop, fds[0], &none, &err);
	rig->exchange = rpc_new(rig->keeper.loop, fds[1], &config, &err);
	peer.prev = &peer;
	rig->keeper.peers = &peer;
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	supply_release(&rig->vault);
	rpc_close(rig->keeper.peers->rpc);
	rpc_close(rig->exchange);
	rig->keeper.peers = NULL;
	fake_run(rig->keeper.loop);
	keeper_records_release(&rig->keeper);
	io_loop_free(rig->keeper.loop);
	fake_reset_all();
	free(rig);
	return 0;
}

static void retire(struct rig *rig, const char *token)
{
	struct supply supply = {
		.vault = &rig->vault, .source = &source, .repository = "a/b"};
	struct err err;

	secret_init(&supply.value);
	assert_int_equal(secret_set(&supply.value, bytes_str(token), &err), 0);
	retire_token(&supply);
	secret_release(&supply.value);
	fake_run(rig->keeper.loop);
}

static void pass(struct rig *rig, uint64_t ms)
{
	fake_advance(rig->keeper.loop, ms);
	fake_run(rig->keeper.loop);
}

static void a_token_is_revoked_once_who_has_it_has_sent_it(void **state)
{
	struct rig *rig = *state;

	retire(rig, "first");
	pass(rig, RETIRE_AFTER_MS - 1000);
	retire(rig, "second");
	assert_int_equal(rig->ended, 0);
	pass(rig, 1000);
	assert_int_equal(rig->ended, 1);
	assert_string_equal(rig->token, "first");
	pass(rig, RETIRE_AFTER_MS - 1000);
	assert_int_equal(rig->ended, 2);
	assert_string_equal(rig->token, "second");
	assert_int_equal(rig->vault.retired_count, 0);
	pass(rig, 10 * RETIRE_AFTER_MS);
	assert_int_equal(rig->ended, 2);
}

static void one_too_many_ends_the_oldest_at_once(void **state)
{
	struct rig *rig = *state;
	char token[32];

	for (int i = 0; i < RETIRED_MAX; i++) {
		(void)snprintf(token, sizeof(token), "token-%d", i);
		retire(rig, token);
	}
	assert_int_equal(rig->ended, 0);
	retire(rig, "one-more");
	assert_int_equal(rig->ended, 1);
	assert_string_equal(rig->token, "token-0");
	assert_int_equal(rig->vault.retired_count, RETIRED_MAX);
	pass(rig, RETIRE_AFTER_MS);
	assert_int_equal(rig->ended, RETIRED_MAX + 1);
	assert_string_equal(rig->token, "one-more");
}

static void the_vaults_stop_revokes_what_waits(void **state)
{
	struct rig *rig = *state;

	retire(rig, "first");
	retire(rig, "second");
	retire_stop(&rig->vault);
	assert_int_equal(rig->vault.revoking, 2);
	fake_run(rig->keeper.loop);
	assert_int_equal(rig->ended, 2);
	assert_string_equal(rig->token, "second");
	assert_int_equal(rig->vault.revoking, 0);
	assert_int_equal(rig->vault.retired_count, 0);
}

static struct supply *hold_token(struct rig *rig, unsigned number)
{
	struct supply *supply = calloc(1, sizeof(*supply));
	struct err err;

	assert_non_null(supply);
	supply->vault = &rig->vault;
	supply->source = &source;
	supply->fresh_ms = supply->expires_ms = UINT64_MAX;
	(void)snprintf(supply->key, sizeof(supply->key), "app-%u", number);
	secret_init(&supply->value);
	assert_int_equal(
		secret_set(&supply->value, bytes_str(supply->key), &err), 0);
	HASH_ADD_STR(rig->vault.supplies, key, supply);
	return supply;
}

static void
the_vaults_stop_asks_for_no_more_than_there_is_room_for(void **state)
{
	const unsigned count = 2 * REVOKE_AT_ONCE + 10;
	struct rig *rig = *state;

	retire(rig, "first");
	for (unsigned i = 1; i < count; i++)
		(void)hold_token(rig, i);
	rig->holds = true;
	retire_stop(&rig->vault);
	fake_run(rig->keeper.loop);
	while (rig->held > 0) {
		assert_in_range(rig->held, 1, REVOKE_AT_ONCE);
		answer_held(rig);
	}
	assert_int_equal(rig->ended, count);
	assert_int_equal(rig->vault.revoking, 0);
}

static void on_value(const struct secret *value, const struct err *err,
		     void *owner)
{
	assert_null(value);
	assert_non_null(err);
	++*(unsigned *)owner;
}

static void a_token_that_was_revoked_is_no_value_any_more(void **state)
{
	struct rig *rig = *state;
	struct supply *supply = hold_token(rig, 1);
	struct supply_waiter *waiter = calloc(1, sizeof(*waiter));
	unsigned answers = 0;

	assert_non_null(waiter);
	retire_stop(&rig->vault);
	fake_run(rig->keeper.loop);
	assert_int_equal(rig->ended, 1);
	waiter->fn = on_value;
	waiter->owner = &answers;
	DL_APPEND(supply->waiters, waiter);
	rig->vault.waiter_count++;
	supply_failed(supply, "down");
	assert_int_equal(answers, 1);
}

/* The session ended while another token was bought: no other comes, and
 * nobody is there whose end would have this one revoked. */
static void a_token_that_nobody_wants_ends_with_its_failed_renewal(void **state)
{
	struct rig *rig = *state;
	struct supply *supply = hold_token(rig, 1);

	supply->is_asked = true;
	supply_failed(supply, "down");
	fake_run(rig->keeper.loop);
	assert_int_equal(rig->ended, 1);
	assert_string_equal(rig->token, "app-1");
	assert_null(rig->vault.supplies);
}

static void the_vaults_end_revokes_none(void **state)
{
	struct rig *rig = *state;

	retire(rig, "first");
	retire_release(&rig->vault);
	pass(rig, RETIRE_AFTER_MS);
	assert_int_equal(rig->ended, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		T(a_token_is_revoked_once_who_has_it_has_sent_it),
		T(one_too_many_ends_the_oldest_at_once),
		T(the_vaults_stop_revokes_what_waits),
		T(the_vaults_stop_asks_for_no_more_than_there_is_room_for),
		T(a_token_that_was_revoked_is_no_value_any_more),
		T(a_token_that_nobody_wants_ends_with_its_failed_renewal),
		T(the_vaults_end_revokes_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
