#include "tests/unit/gateway/ledger/fixture.h"

#include "gateway/flow/messages.h"
#include "gateway/flow/target.h"
#include "gateway/ledger/approvals.h"

/* A ledger's approvals with one channel to them, as an edge's or control's. */
struct rig {
	struct fixture *fixture;
	struct io_loop *loop;
	struct batch batch;
	struct approvals approvals;
	struct keeper_peer peer; /* an edge's */
	struct rpc *ledger, *asker;
	bool is_edge;
	/* What came back. */
	bool is_answered, is_refused;
	char id[PROPOSAL_ID_MAX + 1];
	char session[32];
	uint8_t state;
};

static void answer(struct rpc_ticket ticket, const char *why)
{
	(void)ticket;
	(void)why;
}

static void answer_take(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	struct rig *rig = owner;

	(void)fd;
	if (rig->is_edge)
		approvals_take(&rig->approvals, &rig->peer, ticket, message);
	else
		approvals_take_command(&rig->approvals, ticket, message);
}

static int setup(void **state)
{
	static const struct batch_hooks hooks = {.answer = answer};
	static const struct rpc_permit permits[] = {
		{MSG_PROPOSAL_TAKE, &proposal_schema, answer_take, false, 1000},
	};
	static struct rig rig;
	static struct keeper keeper;
	const struct rpc_config asker = {.owner = &rig};
	const struct rpc_config ledger = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = &rig,
	};
	struct err err;
	int ends[2];

	assert_int_equal(fixture_setup(state), 0);
	rig = (struct rig){.fixture = *state,
			   .peer = {.role = ROLE_EDGE, .session = "s-edge"}};
	rig.loop = io_loop_new(&err);
	assert_non_null(rig.loop);
	assert_int_equal(proposals_open(&rig.fixture->store, &err), 0);
	assert_int_equal(batch_init(&rig.batch, rig.loop, &rig.fixture->store,
				    &hooks, &err),
			 0);
	rig.approvals =
		(struct approvals){&keeper, &rig.fixture->store, &rig.batch};
	assert_int_equal(io_message_pair(ends, &err), 0);
	rig.ledger = rpc_new(rig.loop, ends[0], &ledger, &err);
	rig.asker = rpc_new(rig.loop, ends[1], &asker, &err);
	assert_non_null(rig.ledger);
	assert_non_null(rig.asker);
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	struct err err;

	rpc_close(rig->asker);
	rpc_close(rig->ledger);
	/* They are freed at the end of a turn. */
	assert_int_equal(io_loop_turn(rig->loop, 0, &err), 0);
	(void)batch_flush(&rig->batch);
	batch_release(&rig->batch);
	io_loop_free(rig->loop);
	*state = rig->fixture;
	return fixture_teardown(state);
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	const struct proposal *proposal = outcome->message;
	struct rig *rig = owner;

	rig->is_answered = true;
	rig->is_refused = outcome->err != NULL;
	if (rig->is_refused)
		return;
	(void)snprintf(rig->id, sizeof(rig->id), "%.*s",
		       BYTES_ARGS(proposal->id));
	(void)snprintf(rig->session, sizeof(rig->session), "%.*s",
		       BYTES_ARGS(proposal->session));
	rig->state = proposal->state;
}

/* Ask, and wait. True: there was a good answer. */
static bool take(struct rig *rig, const struct proposal *question)
{
	const struct rpc_call call = {
		.type = MSG_PROPOSAL_TAKE,
		.schema = &proposal_schema,
		.message = question,
		.fd = -1,
		.reply_schema = &proposal_schema,
		.timeout_ms = 60000,
		.on_outcome = on_outcome,
		.owner = rig,
	};
	struct err err;

	rig->is_answered = false;
	assert_int_equal(rpc_ask(rig->asker, &call, NULL, &err), 0);
	while (!rig->is_answered)
		assert_int_equal(io_loop_turn(rig->loop, 1000, &err), 0);
	return !rig->is_refused;
}

static struct proposal question_of(const char *method, const char *session)
{
	return (struct proposal){
		.session = bytes_str(session),
		.rule = bytes_str("r"),
		.method = bytes_str(method),
		.scheme = SCHEME_TCP,
		.host = bytes_str("sandbox"),
		.path = bytes_str("rm x"),
		.expires_ms = 1ull << 50,
	};
}

static void control_asks_about_commands_of_the_session_it_names(void **state)
{
	struct rig *rig = *state;
	struct proposal question = question_of(PROPOSAL_COMMAND, "s-1");
	char first[PROPOSAL_ID_MAX + 1];

	assert_true(take(rig, &question));
	assert_int_equal(rig->state, PROPOSAL_PENDING);
	assert_string_equal(rig->session, "s-1");
	memcpy(first, rig->id, sizeof(first));
	assert_true(take(rig, &question));
	assert_string_equal(rig->id, first);
	question.session = bytes_str("s-2");
	assert_true(take(rig, &question));
	assert_string_not_equal(rig->id, first);
}

static void control_asks_about_nothing_else(void **state)
{
	struct rig *rig = *state;
	const struct proposal request = question_of("CONNECT", "s-1");
	const struct proposal nobodys = question_of(PROPOSAL_COMMAND, "");

	assert_false(take(rig, &request));
	assert_false(take(rig, &nobodys));
}

static void an_edge_asks_about_no_command(void **state)
{
	struct rig *rig = *state;
	const struct proposal command = question_of(PROPOSAL_COMMAND, "s-1");
	const struct proposal request = question_of("CONNECT", "s-1");

	rig->is_edge = true;
	assert_false(take(rig, &command));
	assert_true(take(rig, &request));
	assert_string_equal(rig->session, "s-edge");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(control_asks_about_commands_of_the_session_it_names),
		TEST(control_asks_about_nothing_else),
		TEST(an_edge_asks_about_no_command),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
