/*
 * The end of tokens that were replaced, over the fake io: the test plays the
 * exchange.
 */
#include "tests/unit/gateway/vault/fixture.h"

#include "common/io_fake.h"
#include "gateway/keeper/records.h"
#include "gateway/vault/retire.h"

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
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
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

	retire_release(&rig->vault);
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
		T(the_vaults_end_revokes_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
