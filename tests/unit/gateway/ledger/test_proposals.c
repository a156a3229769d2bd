#include "gateway/ledger/proposals.h"
#include "tests/unit/gateway/ledger/fixture.h"

#define NOW   1763751600000u
#define LATER (NOW + 3600000u)

static struct proposal question_of(const char *session)
{
	return (struct proposal){
		.session = bytes_str(session),
		.rule = bytes_str("release"),
		.method = bytes_str("POST"),
		.scheme = 1,
		.host = bytes_str("api.example.com"),
		.port = 443,
		.path = bytes_str("/releases"),
		.credential = bytes_str("forge"),
		.expires_ms = LATER,
	};
}

static int setup(void **state)
{
	struct fixture *fixture;

	if (fixture_setup(state) != 0)
		return -1;
	fixture = *state;
	return proposals_open(&fixture->store, &fixture->err);
}

/* Ask, which must work. */
static bool ask(struct fixture *fixture, const struct proposal *question,
		bool take, uint64_t now_ms, struct proposal *found)
{
	const struct proposal_ask asked = {question, take, now_ms};
	bool is_new;

	if (proposals_ask(&fixture->store, &asked, &fixture->arena, found,
			  &is_new, &fixture->err) < 0)
		fail_msg("%s", fixture->err.text);
	return is_new;
}

static int decide(struct fixture *fixture, struct bytes id, bool approve,
		  enum grant_scope scope, uint64_t until_ms)
{
	const struct msg_proposal_decide message = {
		.id = id,
		.approve = approve,
		.scope = (uint8_t)scope,
		.until_ms = until_ms,
		.by = 1000,
	};

	return proposals_decide(&fixture->store, &message, NOW, &fixture->err);
}

static enum proposal_state state_of(struct fixture *fixture, struct bytes id,
				    uint64_t now_ms)
{
	struct proposal found;

	assert_int_equal(proposals_get(&fixture->store, id, now_ms,
				       &fixture->arena, &found, &fixture->err),
			 1);
	return found.state;
}

static void the_same_question_is_one_proposal(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, second;

	assert_true(ask(fixture, &question, true, NOW, &first));
	assert_false(ask(fixture, &question, true, NOW, &second));
	assert_true(bytes_equal(first.id, second.id));
	assert_int_equal(second.state, PROPOSAL_PENDING);
	assert_true(bytes_is(second.path, "/releases"));
	assert_int_equal(second.port, 443);
}

static void whatever_differs_makes_another_question(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), found;
	struct proposal others[8];

	assert_true(ask(fixture, &question, true, NOW, &found));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = question;
	others[0].session = bytes_str("s-2");
	others[1].rule = bytes_str("other");
	others[2].method = bytes_str("PUT");
	others[3].scheme = 0;
	others[4].host = bytes_str("api.example.org");
	others[5].port = 8443;
	others[6].path = bytes_str("/releases/");
	others[7].credential = bytes_str("");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(ask(fixture, &others[i], true, NOW, &found));
}

static void what_is_approved_once_is_given_once(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, found;

	(void)ask(fixture, &question, true, NOW, &first);
	assert_int_equal(decide(fixture, first.id, true, GRANT_ONCE, 0), 1);
	/* Who only looks uses nothing up. */
	(void)ask(fixture, &question, false, NOW, &found);
	assert_int_equal(found.state, PROPOSAL_APPROVED);
	(void)ask(fixture, &question, true, NOW, &found);
	assert_int_equal(found.state, PROPOSAL_APPROVED);
	assert_int_equal(state_of(fixture, first.id, NOW), PROPOSAL_USED);
	assert_true(ask(fixture, &question, true, NOW, &found));
	assert_int_equal(found.state, PROPOSAL_PENDING);
	assert_false(bytes_equal(first.id, found.id));
}

static void what_is_approved_for_the_session_ends_with_it(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, found;

	(void)ask(fixture, &question, true, NOW, &first);
	assert_int_equal(decide(fixture, first.id, true, GRANT_SESSION, 0), 1);
	for (int i = 0; i < 3; i++) {
		(void)ask(fixture, &question, true, LATER - 1, &found);
		assert_int_equal(found.state, PROPOSAL_APPROVED);
	}
	assert_int_equal(found.until_ms, LATER);
	assert_int_equal(state_of(fixture, first.id, LATER), PROPOSAL_EXPIRED);
}

static void a_grant_until_a_time_ends_then(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, found;

	(void)ask(fixture, &question, true, NOW, &first);
	assert_int_equal(
		decide(fixture, first.id, true, GRANT_UNTIL, NOW + 1000), 1);
	(void)ask(fixture, &question, true, NOW + 999, &found);
	assert_int_equal(found.state, PROPOSAL_APPROVED);
	assert_true(ask(fixture, &question, true, NOW + 1000, &found));
	assert_int_equal(found.state, PROPOSAL_PENDING);
}

static void no_grant_outlives_its_session(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, found;

	(void)ask(fixture, &question, true, NOW, &first);
	assert_int_equal(
		decide(fixture, first.id, true, GRANT_UNTIL, LATER * 2), 1);
	(void)ask(fixture, &question, true, NOW, &found);
	assert_int_equal(found.until_ms, LATER);
}

static void no_session_lives_longer_than_any_may(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), found;

	question.expires_ms = INT64_MAX;
	(void)ask(fixture, &question, true, NOW, &found);
	assert_int_equal(found.expires_ms, NOW + PROPOSALS_LIFE_MAX_MS);
}

static void what_was_denied_stays_denied(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, found;

	(void)ask(fixture, &question, true, NOW, &first);
	assert_int_equal(decide(fixture, first.id, false, GRANT_ONCE, 0), 1);
	assert_false(ask(fixture, &question, true, NOW, &found));
	assert_int_equal(found.state, PROPOSAL_DENIED);
	assert_int_equal(found.decided_by, 1000);
	assert_int_equal(decide(fixture, first.id, true, GRANT_ONCE, 0), 0);
	assert_int_equal(state_of(fixture, first.id, NOW), PROPOSAL_DENIED);
}

static void what_ran_out_or_is_unknown_cannot_be_decided(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first;

	question.expires_ms = NOW + 1;
	(void)ask(fixture, &question, true, NOW - 1, &first);
	assert_int_equal(state_of(fixture, first.id, NOW + 1),
			 PROPOSAL_EXPIRED);
	assert_int_equal(decide(fixture, first.id, true, GRANT_ONCE, 0), 0);
	assert_int_equal(
		decide(fixture, bytes_str("p-none"), true, GRANT_ONCE, 0), 0);
}

static void a_session_that_ended_keeps_nothing_open(void **state)
{
	struct fixture *fixture = *state;
	struct proposal granted = question_of("s-1"), open, other, found;
	struct proposal waiting = granted, foreign = question_of("s-2");

	waiting.path = bytes_str("/b");
	(void)ask(fixture, &granted, true, NOW, &found);
	assert_int_equal(decide(fixture, found.id, true, GRANT_SESSION, 0), 1);
	(void)ask(fixture, &waiting, true, NOW, &open);
	(void)ask(fixture, &foreign, true, NOW, &other);
	assert_int_equal(proposals_end_session(&fixture->store,
					       bytes_str("s-1"), &fixture->err),
			 0);
	assert_int_equal(state_of(fixture, found.id, NOW), PROPOSAL_ENDED);
	assert_int_equal(state_of(fixture, open.id, NOW), PROPOSAL_ENDED);
	assert_int_equal(state_of(fixture, other.id, NOW), PROPOSAL_PENDING);
	assert_int_equal(decide(fixture, open.id, true, GRANT_ONCE, 0), 0);
}

static void one_session_fills_its_own_room_alone(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), found;
	const struct proposal_ask more = {&question, true, NOW};
	char path[32];
	bool is_new;

	for (int i = 0; i < PROPOSALS_PENDING_MAX; i++) {
		(void)snprintf(path, sizeof(path), "/%d", i);
		question.path = bytes_str(path);
		assert_true(ask(fixture, &question, true, NOW, &found));
	}
	question.path = bytes_str("/more");
	assert_int_equal(proposals_ask(&fixture->store, &more, &fixture->arena,
				       &found, &is_new, &fixture->err),
			 -1);
	assert_int_equal(fixture->err.code, ERR_TOO_LARGE);
	/* Twins: another session's, and one that an answer makes room for. */
	question.session = bytes_str("s-2");
	assert_true(ask(fixture, &question, true, NOW, &found));
	question = question_of("s-1");
	question.path = bytes_str("/0");
	(void)ask(fixture, &question, true, NOW, &found);
	assert_int_equal(decide(fixture, found.id, false, GRANT_ONCE, 0), 1);
	question.path = bytes_str("/more");
	assert_true(ask(fixture, &question, true, NOW, &found));
}

static void proposals_survive_a_restart(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, found;

	(void)ask(fixture, &question, true, NOW, &first);
	fixture_reopen(fixture);
	assert_int_equal(proposals_open(&fixture->store, &fixture->err), 0);
	assert_false(ask(fixture, &question, true, NOW, &found));
	assert_true(bytes_equal(first.id, found.id));
}

static size_t list(struct fixture *fixture, const char *session,
		   enum proposal_state wanted, struct msg_proposal_list *out)
{
	const struct msg_proposal_query query = {
		.session = bytes_str(session),
		.state = (uint8_t)wanted,
		.after = out->last,
	};

	if (proposals_list(&fixture->store, &query, NOW, &fixture->arena, out,
			   &fixture->err) < 0)
		fail_msg("%s", fixture->err.text);
	return out->proposals_count;
}

static void lists_are_of_a_session_and_a_state(void **state)
{
	struct fixture *fixture = *state;
	struct proposal one = question_of("s-1"), two = question_of("s-2");
	struct msg_proposal_list all = {0}, own = {0}, denied = {0};
	struct proposal found;

	(void)ask(fixture, &one, true, NOW, &found);
	(void)ask(fixture, &two, true, NOW, &found);
	assert_int_equal(decide(fixture, found.id, false, GRANT_ONCE, 0), 1);
	assert_int_equal(list(fixture, "", PROPOSAL_STATE_MAX, &all), 2);
	assert_true(bytes_is(all.proposals[0].session, "s-1"));
	assert_int_equal(list(fixture, "s-1", PROPOSAL_STATE_MAX, &own), 1);
	assert_int_equal(list(fixture, "", PROPOSAL_DENIED, &denied), 1);
	assert_true(bytes_is(denied.proposals[0].session, "s-2"));
}

static void long_lists_come_in_parts(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), found;
	struct msg_proposal_list part = {0};
	char path[PROPOSAL_PATH_MAX];
	size_t total = 0, parts = 0;

	memset(path, 'a', sizeof(path));
	for (int i = 0; i < 12; i++) {
		path[0] = (char)('a' + i);
		question.path = bytes_from(path, sizeof(path));
		assert_true(ask(fixture, &question, true, NOW, &found));
	}
	do {
		total += list(fixture, "s-1", PROPOSAL_PENDING, &part);
		parts++;
	} while (part.more);
	assert_int_equal(total, 12);
	assert_true(parts > 1);
}

static void what_is_long_over_is_forgotten(void **state)
{
	struct fixture *fixture = *state;
	struct proposal question = question_of("s-1"), first, found;
	uint64_t kept = LATER + PROPOSALS_KEPT_MS;

	(void)ask(fixture, &question, true, NOW, &first);
	assert_int_equal(state_of(fixture, first.id, kept - 1),
			 PROPOSAL_EXPIRED);
	assert_int_equal(proposals_get(&fixture->store, first.id, kept,
				       &fixture->arena, &found, &fixture->err),
			 0);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_same_question_is_one_proposal),
		TEST(whatever_differs_makes_another_question),
		TEST(what_is_approved_once_is_given_once),
		TEST(what_is_approved_for_the_session_ends_with_it),
		TEST(a_grant_until_a_time_ends_then),
		TEST(no_grant_outlives_its_session),
		TEST(no_session_lives_longer_than_any_may),
		TEST(what_was_denied_stays_denied),
		TEST(what_ran_out_or_is_unknown_cannot_be_decided),
		TEST(a_session_that_ended_keeps_nothing_open),
		TEST(one_session_fills_its_own_room_alone),
		TEST(proposals_survive_a_restart),
		TEST(lists_are_of_a_session_and_a_state),
		TEST(long_lists_come_in_parts),
		TEST(what_is_long_over_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
