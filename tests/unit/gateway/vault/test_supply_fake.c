/*
 * Where values come from, over the fake io: the test plays the warden and
 * the exchange.
 */
#include "tests/unit/gateway/vault/fixture.h"

#include "common/io_core.h"
#include "common/io_fake.h"
#include "gateway/keeper/records.h"
#include "gateway/vault/retire.h"

static const struct config_source sources[] = {
	{.name = BYTES_LITERAL("program"),
	 .kind = SOURCE_EXEC,
	 .cache_ms = 60000,
	 .timeout_ms = 5000},
	{.name = BYTES_LITERAL("api"),
	 .kind = SOURCE_OAUTH2,
	 .host = BYTES_LITERAL("idp.example"),
	 .client = BYTES_LITERAL("client"),
	 .refresh = BYTES_LITERAL("refresh")},
};

struct rig {
	struct fixture *fixture;
	struct keeper keeper;
	struct keeper_spec spec;
	struct vault vault;
	struct rpc *warden, *exchange; /* the test's ends */
	struct rpc_ticket ticket;      /* of what was asked last */
	unsigned asked;		       /* how often, in all */
	char refresh[64];	       /* that was given last */
	/* what came out */
	unsigned answers;
	char value[64];
	char why[ERR_TEXT_MAX];
};

static void on_value(const struct secret *value, const struct err *err,
		     void *owner)
{
	struct rig *rig = owner;

	rig->answers++;
	rig->value[0] = rig->why[0] = '\0';
	if (value)
		(void)snprintf(rig->value, sizeof(rig->value), "%.*s",
			       BYTES_ARGS(secret_view(value)));
	else
		(void)snprintf(rig->why, sizeof(rig->why), "%s", err->text);
}

static void on_source_open(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	rpc_ticket_hold(ticket);
	rig->ticket = ticket;
	rig->asked++;
}

static void on_exchange(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct msg_exchange *wanted = message;
	struct rig *rig = owner;

	on_source_open(ticket, message, fd, owner);
	assert_true(bytes_is(wanted->proof, "id:pw"));
	(void)snprintf(rig->refresh, sizeof(rig->refresh), "%.*s",
		       BYTES_ARGS(wanted->refresh));
}

/* A channel: *ours for the vault, and the test's end. */
static struct rpc *channel(struct rig *rig, const struct rpc_permit *permits,
			   struct rpc **ours)
{
	const struct rpc_config none = {.owner = rig};
	const struct rpc_config config = {
		.permits = permits, .permit_count = 1, .owner = rig};
	struct err err;
	int fds[2];

	assert_int_equal(io_message_pair(fds, &err), 0);
	*ours = rpc_new(rig->keeper.loop, fds[0], &none, &err);
	return rpc_new(rig->keeper.loop, fds[1], &config, &err);
}

static void put(struct rig *rig, const char *name, const char *value)
{
	assert_int_equal(vault_store_put(&rig->vault.store, bytes_str(name),
					 bytes_str(value), 1,
					 &rig->fixture->err),
			 0);
}

static int setup(void **state)
{
	static const struct rpc_permit warden_permit = {
		MSG_SOURCE_OPEN, &msg_source_ref_schema, on_source_open, false,
		0};
	static const struct rpc_permit exchange_permit = {
		MSG_EXCHANGE, &msg_exchange_schema, on_exchange, false, 0};
	static struct keeper_peer peer;
	struct rig *rig = calloc(1, sizeof(*rig));
	struct seal_source source;
	struct err err;
	void *fixture;

	assert_int_equal(fixture_setup(&fixture), 0);
	rig->fixture = fixture;
	source = source_of(rig->fixture);
	rig->keeper.loop = io_loop_new(&err);
	rig->keeper.spec = &rig->spec;
	rig->keeper.config.sources = sources;
	rig->keeper.config.sources_count = ARRAY_SIZE(sources);
	rig->vault.keeper = &rig->keeper;
	assert_int_equal(vault_store_open(&rig->vault.store, &source, &err), 0);
	rig->warden = channel(rig, &warden_permit, &rig->keeper.warden);
	peer = (struct keeper_peer){.keeper = &rig->keeper,
				    .role = ROLE_EXCHANGE};
	rig->exchange = channel(rig, &exchange_permit, &peer.rpc);
	peer.prev = &peer;
	rig->keeper.peers = &peer;
	put(rig, "client", "id:pw");
	put(rig, "refresh", "refresh-1");
	put(rig, "plain", "value");
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	void *fixture = rig->fixture;

	rpc_close(rig->keeper.warden);
	rpc_close(rig->warden);
	rpc_close(rig->keeper.peers->rpc);
	rpc_close(rig->exchange);
	rig->keeper.peers = NULL;
	fake_run(rig->keeper.loop);
	supply_release(&rig->vault);
	former_release(&rig->vault.former);
	vault_store_close(&rig->vault.store);
	keeper_records_release(&rig->keeper);
	io_loop_free(rig->keeper.loop);
	fake_reset_all();
	free(rig);
	return fixture_teardown(&fixture);
}

static void get(struct rig *rig, const char *name)
{
	const struct supply_wanted wanted = {.name = bytes_str(name)};

	supply_get(&rig->vault, &wanted, on_value, rig);
	fake_run(rig->keeper.loop);
}

/* The exchange's answer to what was asked. */
static void sell(struct rig *rig, const char *token, const char *refresh,
		 uint64_t lifetime_ms)
{
	const struct msg_exchanged exchanged = {
		bytes_str(token), bytes_str(refresh), lifetime_ms};

	rpc_reply(rig->ticket, &msg_exchanged_schema, &exchanged, -1);
	fake_run(rig->keeper.loop);
}

static void refuse(struct rig *rig, const char *why)
{
	rpc_refuse(rig->ticket, CONSTRAINT_credential_unavailable, "%s", why);
	fake_run(rig->keeper.loop);
}

static void assert_stored(struct rig *rig, const char *name, const char *text)
{
	struct secret value;

	secret_init(&value);
	assert_int_equal(vault_store_get(&rig->vault.store, bytes_str(name),
					 &value, &rig->fixture->err),
			 0);
	assert_true(bytes_is(secret_view(&value), text));
	secret_release(&value);
}

static void what_the_vault_keeps_is_there_at_once(void **state)
{
	struct rig *rig = *state;

	get(rig, "plain");
	assert_string_equal(rig->value, "value");
	get(rig, "nobody");
	assert_non_null(strstr(rig->why, "nobody"));
	assert_int_equal(rig->asked, 0);
}

static void many_wait_for_one_purchase(void **state)
{
	struct rig *rig = *state;

	for (int i = 0; i < 5; i++)
		get(rig, "api");
	assert_int_equal(rig->asked, 1);
	assert_int_equal(rig->answers, 0);
	sell(rig, "token-1", "", 3600000);
	assert_int_equal(rig->answers, 5);
	assert_string_equal(rig->value, "token-1");
	get(rig, "api");
	assert_int_equal(rig->asked, 1);
}

static void a_token_is_bought_again_before_its_end(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	sell(rig, "token-1", "", 3600000);
	fake_advance(rig->keeper.loop, 3600000 - 60000 - 1);
	get(rig, "api");
	assert_int_equal(rig->asked, 1);
	fake_advance(rig->keeper.loop, 1);
	get(rig, "api");
	assert_int_equal(rig->asked, 2);
	/* What is nearly over is better than nothing, while it lasts. */
	refuse(rig, "down");
	assert_string_equal(rig->value, "token-1");
	fake_advance(rig->keeper.loop, 60000);
	get(rig, "api");
	refuse(rig, "down");
	assert_string_equal(rig->value, "");
	assert_non_null(strstr(rig->why, "down"));
}

static void a_refresh_token_is_kept_before_the_token_is_used(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	assert_string_equal(rig->refresh, "refresh-1");
	sell(rig, "token-1", "refresh-2", 2000);
	assert_stored(rig, "refresh", "refresh-2");
	fake_advance(rig->keeper.loop, 1000);
	get(rig, "api");
	assert_string_equal(rig->refresh, "refresh-2");
	sell(rig, "token-2", "", 2000);
	assert_string_equal(rig->value, "token-2");
	assert_stored(rig, "refresh", "refresh-2");
}

static void what_cannot_be_kept_is_not_used(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	assert_int_equal(sqlite3_exec(rig->vault.store.db,
				      "PRAGMA query_only = ON", NULL, NULL,
				      NULL),
			 SQLITE_OK);
	sell(rig, "token-1", "refresh-2", 2000);
	assert_int_equal(rig->answers, 1);
	assert_string_equal(rig->value, "");
	assert_string_not_equal(rig->why, "");
	assert_int_equal(sqlite3_exec(rig->vault.store.db,
				      "PRAGMA query_only = OFF", NULL, NULL,
				      NULL),
			 SQLITE_OK);
	assert_stored(rig, "refresh", "refresh-1");
}

static void what_failed_is_not_tried_again_at_once(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	refuse(rig, "down");
	for (int i = 0; i < 3; i++)
		get(rig, "api");
	assert_int_equal(rig->asked, 1);
	assert_int_equal(rig->answers, 4);
	fake_advance(rig->keeper.loop, SUPPLY_FAILED_MS);
	get(rig, "api");
	assert_int_equal(rig->asked, 2);
	sell(rig, "token-1", "", 0);
	assert_string_equal(rig->value, "token-1");
}

static void another_secret_ends_what_was_bought_with_the_old_one(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	sell(rig, "token-1", "", 3600000);
	supply_changed(&rig->vault, bytes_str("client"));
	get(rig, "api");
	assert_int_equal(rig->asked, 2);
	/* Changed while it is asked for: what comes was bought with the old
	 * one. */
	supply_changed(&rig->vault, bytes_str("refresh"));
	sell(rig, "token-2", "", 3600000);
	get(rig, "api");
	assert_int_equal(rig->asked, 3);
	sell(rig, "token-3", "", 3600000);
	assert_string_equal(rig->value, "token-3");
}

/* The answer to a purchase that was made with the old one. */
static void what_was_put_meanwhile_is_not_replaced(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	put(rig, "refresh", "refresh-9");
	supply_changed(&rig->vault, bytes_str("refresh"));
	sell(rig, "token-1", "refresh-2", 2000);
	assert_stored(rig, "refresh", "refresh-9");
	get(rig, "api");
	assert_string_equal(rig->refresh, "refresh-9");
	/* It is only for the purchase that was under way. */
	sell(rig, "token-2", "refresh-10", 2000);
	assert_stored(rig, "refresh", "refresh-10");
}

static void what_was_removed_meanwhile_does_not_come_back(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	assert_int_equal(vault_store_remove(&rig->vault.store,
					    bytes_str("refresh"),
					    &rig->fixture->err),
			 0);
	supply_changed(&rig->vault, bytes_str("refresh"));
	sell(rig, "token-1", "refresh-2", 3600000);
	assert_false(vault_store_has(&rig->vault.store, bytes_str("refresh")));
	get(rig, "api");
	assert_int_equal(rig->asked, 1);
	assert_string_equal(rig->value, "");
}

/* The client's secret is another: what came with the token is all there is. */
static void another_client_leaves_the_refresh_token(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	supply_changed(&rig->vault, bytes_str("client"));
	sell(rig, "token-1", "refresh-2", 2000);
	assert_stored(rig, "refresh", "refresh-2");
}

static void what_the_old_one_bought_does_not_stand_in_for_the_new(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	supply_changed(&rig->vault, bytes_str("client"));
	sell(rig, "token-1", "", 3600000);
	assert_string_equal(rig->value, "token-1");
	get(rig, "api");
	assert_int_equal(rig->asked, 2);
	refuse(rig, "who are you");
	assert_int_equal(rig->answers, 2);
	assert_string_equal(rig->value, "");
	assert_non_null(strstr(rig->why, "who are you"));
}

static void who_asks_after_a_change_has_what_the_new_one_buys(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	supply_changed(&rig->vault, bytes_str("client"));
	get(rig, "api");
	assert_int_equal(rig->asked, 1);
	sell(rig, "token-1", "", 3600000);
	assert_int_equal(rig->answers, 1);
	assert_string_equal(rig->value, "token-1");
	assert_int_equal(rig->asked, 2);
	sell(rig, "token-2", "", 3600000);
	assert_int_equal(rig->answers, 2);
	assert_string_equal(rig->value, "token-2");
	get(rig, "api");
	assert_int_equal(rig->asked, 2);
}

static void what_fails_with_the_old_one_is_tried_with_the_new(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	supply_changed(&rig->vault, bytes_str("client"));
	get(rig, "api");
	refuse(rig, "who are you");
	assert_int_equal(rig->answers, 1);
	assert_int_equal(rig->asked, 2);
	sell(rig, "token-2", "", 3600000);
	assert_int_equal(rig->answers, 2);
	assert_string_equal(rig->value, "token-2");
}

/* The one before is worth nothing by then. */
static void the_vaults_stop_waits_for_a_refresh_token(void **state)
{
	struct rig *rig = *state;
	struct rpc_ticket program;

	get(rig, "program");
	program = rig->ticket;
	get(rig, "api");
	retire_stop(&rig->vault);
	fake_run(rig->keeper.loop);
	assert_false(rig->keeper.loop->is_stopping);
	sell(rig, "token-1", "refresh-2", 2000);
	assert_stored(rig, "refresh", "refresh-2");
	/* A program is not waited for. */
	assert_true(rig->keeper.loop->is_stopping);
	rig->ticket = program;
	refuse(rig, "too late");
}

static void the_vaults_stop_waits_for_no_purchase_that_failed(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	retire_stop(&rig->vault);
	refuse(rig, "down");
	assert_true(rig->keeper.loop->is_stopping);
}

static void the_vaults_stop_waits_so_long_alone(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	retire_stop(&rig->vault);
	fake_advance(rig->keeper.loop, VAULT_STOP_MS);
	fake_run(rig->keeper.loop);
	assert_true(rig->keeper.loop->is_stopping);
	refuse(rig, "too late");
}

static void what_tokens_are_bought_with_is_given_to_nobody(void **state)
{
	struct rig *rig = *state;

	get(rig, "client");
	assert_non_null(strstr(rig->why, "bought with"));
	get(rig, "refresh");
	assert_non_null(strstr(rig->why, "bought with"));
}

static void a_silent_exchange_holds_nobody_for_ever(void **state)
{
	struct rig *rig = *state;

	get(rig, "api");
	fake_advance(rig->keeper.loop, EXCHANGE_TIMEOUT_MS + 1000);
	fake_run(rig->keeper.loop);
	assert_int_equal(rig->answers, 1);
	assert_string_equal(rig->value, "");
	/* An answer that comes too late is nobody's. */
	refuse(rig, "too late");
	assert_int_equal(rig->answers, 1);
}

static void a_program_is_asked_again_after_its_time(void **state)
{
	struct rig *rig = *state;

	get(rig, "program");
	assert_int_equal(rig->asked, 1);
	refuse(rig, "the program of program ended with code 3");
	assert_non_null(strstr(rig->why, "code 3"));
	assert_int_equal(rig->answers, 1);
}

/* What is told of the source at `index`. */
static struct msg_source_entry listed(struct rig *rig, size_t index,
				      struct arena *arena)
{
	struct msg_source_list list;
	struct err err;

	assert_int_equal(supply_list(&rig->vault, 1000000, arena, &list, &err),
			 0);
	assert_int_equal(list.sources_count, ARRAY_SIZE(sources));
	assert_true(bytes_equal(list.sources[index].name, sources[index].name));
	assert_int_equal(list.sources[index].kind, sources[index].kind);
	return list.sources[index];
}

static void a_list_says_how_each_source_does(void **state)
{
	struct rig *rig = *state;
	auto_type(arena_release) struct arena arena;
	struct msg_source_entry entry;

	arena_init(&arena, 64 * 1024);
	assert_int_equal(listed(rig, 0, &arena).state, SOURCE_IDLE);
	assert_int_equal(listed(rig, 1, &arena).state, SOURCE_IDLE);
	get(rig, "api");
	sell(rig, "token-1", "", 3600000);
	entry = listed(rig, 1, &arena);
	assert_int_equal(entry.state, SOURCE_HELD);
	assert_int_equal(entry.held, 1);
	assert_int_equal(entry.until_ms, 1000000 + 3600000);
	assert_int_equal(entry.why.len, 0);
	assert_int_equal(listed(rig, 0, &arena).state, SOURCE_IDLE);
	fake_advance(rig->keeper.loop, 3600000);
	assert_int_equal(listed(rig, 1, &arena).state, SOURCE_IDLE);
}

static void a_list_says_why_a_source_failed(void **state)
{
	struct rig *rig = *state;
	auto_type(arena_release) struct arena arena;
	struct msg_source_entry entry;

	arena_init(&arena, 64 * 1024);
	get(rig, "program");
	refuse(rig, "it ended\x01with code 3");
	entry = listed(rig, 0, &arena);
	assert_int_equal(entry.state, SOURCE_FAILED);
	assert_true(bytes_is(entry.why, "program: it ended?with code 3"));
	fake_advance(rig->keeper.loop, SUPPLY_FAILED_MS);
	get(rig, "api");
	sell(rig, "token-1", "", 3600000);
	assert_int_equal(listed(rig, 1, &arena).state, SOURCE_HELD);
	assert_int_equal(listed(rig, 0, &arena).state, SOURCE_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		T(what_the_vault_keeps_is_there_at_once),
		T(many_wait_for_one_purchase),
		T(a_token_is_bought_again_before_its_end),
		T(a_refresh_token_is_kept_before_the_token_is_used),
		T(what_cannot_be_kept_is_not_used),
		T(what_failed_is_not_tried_again_at_once),
		T(another_secret_ends_what_was_bought_with_the_old_one),
		T(what_was_put_meanwhile_is_not_replaced),
		T(what_was_removed_meanwhile_does_not_come_back),
		T(another_client_leaves_the_refresh_token),
		T(what_the_old_one_bought_does_not_stand_in_for_the_new),
		T(who_asks_after_a_change_has_what_the_new_one_buys),
		T(what_fails_with_the_old_one_is_tried_with_the_new),
		T(the_vaults_stop_waits_for_a_refresh_token),
		T(the_vaults_stop_waits_for_no_purchase_that_failed),
		T(the_vaults_stop_waits_so_long_alone),
		T(what_tokens_are_bought_with_is_given_to_nobody),
		T(a_silent_exchange_holds_nobody_for_ever),
		T(a_program_is_asked_again_after_its_time),
		T(a_list_says_how_each_source_does),
		T(a_list_says_why_a_source_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
