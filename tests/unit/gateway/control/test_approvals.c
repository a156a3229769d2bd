#include "tests/unit/gateway/control/rig.h"

#define H "Host: localhost\r\n"

static const char *decide(struct rig *rig, const char *id, const char *body)
{
	char request[1024];

	(void)snprintf(request, sizeof(request),
		       "POST /v1/approvals/%s HTTP/1.1\r\n" H
		       "Content-Length: %zu\r\n\r\n%s",
		       id, strlen(body), body);
	return rig_ask(rig, request);
}

static const char *get(struct rig *rig, const char *query)
{
	char request[256];

	(void)snprintf(request, sizeof(request),
		       "GET /v1/approvals%s HTTP/1.1\r\n" H "\r\n", query);
	return rig_ask(rig, request);
}

static void
approvals_are_listed_to_the_owner_and_to_administrators(void **state)
{
	static const struct {
		uid_t uid;
		bool is_admin;
		const char *query;
		unsigned status;
	} cases[] = {
		{1000, false, "?session=" RIG_ID, 200},
		{1001, false, "?session=" RIG_ID, 403},
		{1000, false, "", 403},
		{0, true, "", 200},
		{0, true, "?state=pending", 200},
		{0, true, "?state=open", 400},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig rig;

		rig_init(&rig, cases[i].uid, cases[i].is_admin);
		assert_status(get(&rig, cases[i].query), cases[i].status);
		rig_release(&rig);
	}
}

static void approvals_come_whole_from_a_list_in_parts(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	answer = get(&rig, "");
	assert_contains(answer, "\"more\":false");
	assert_contains(answer, "\"scheme\":\"https\"");
	answer = strstr(answer, RIG_PROPOSAL);
	assert_non_null(answer);
	assert_contains(answer + 1, RIG_PROPOSAL);
	assert_contains(get(&rig, "?state=denied"), "\"approvals\":[]");
	rig_release(&rig);
}

static void decisions_say_what_they_are(void **state)
{
	static const struct {
		const char *body;
		unsigned status;
		bool approve;
		uint8_t scope;
	} cases[] = {
		{"{\"decision\":\"approve\"}", 200, true, GRANT_SESSION},
		{"{\"decision\":\"approve\",\"scope\":\"once\"}", 200, true,
		 GRANT_ONCE},
		{"{\"decision\":\"approve\",\"until\":"
		 "\"2999-01-01T00:00:00Z\"}",
		 200, true, GRANT_UNTIL},
		{"{\"decision\":\"deny\"}", 200, false, GRANT_SESSION},
		{"{\"decision\":\"deny\",\"scope\":\"once\"}", 422, 0, 0},
		{"{\"decision\":\"yes\"}", 422, 0, 0},
		{"{\"decision\":\"approve\",\"scope\":\"ever\"}", 422, 0, 0},
		{"{\"decision\":\"approve\",\"scope\":\"until\"}", 422, 0, 0},
		{"{\"decision\":\"approve\",\"scope\":\"once\",\"until\":"
		 "\"2999-01-01T00:00:00Z\"}",
		 422, 0, 0},
		{"{\"decision\":\"approve\",\"until\":"
		 "\"2001-01-01T00:00:00Z\"}",
		 422, 0, 0},
		{"{\"decision\":\"approve\",\"until\":\"soon\"}", 422, 0, 0},
		{"{\"decision\":\"approve\",\"path\":\"/**\"}", 400, 0, 0},
		{"{\"decision\":\"deny\",\"decision\":\"approve\"}", 400, 0, 0},
		{"{}", 400, 0, 0},
		{"approve", 400, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig rig;

		rig_init(&rig, 1000, false);
		assert_status(decide(&rig, RIG_PROPOSAL, cases[i].body),
			      cases[i].status);
		assert_int_equal(rig.decisions, cases[i].status == 200);
		if (rig.decisions) {
			assert_int_equal(rig.decided.approve, cases[i].approve);
			assert_int_equal(rig.decided.scope, cases[i].scope);
			assert_int_equal(rig.decided.by, 1000);
		}
		rig_release(&rig);
	}
}

static void only_the_owner_and_administrators_decide(void **state)
{
	static const char body[] = "{\"decision\":\"approve\"}";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1001, false);
	assert_status(decide(&rig, RIG_PROPOSAL, body), 403);
	assert_int_equal(rig.decisions, 0);
	rig_release(&rig);
	rig_init(&rig, 0, true);
	assert_status(decide(&rig, RIG_PROPOSAL, body), 200);
	rig_release(&rig);
}

static void what_is_unknown_decided_or_over_cannot_be_decided(void **state)
{
	static const char body[] = "{\"decision\":\"approve\"}";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	assert_status(decide(&rig, "p-none", body), 404);
	assert_status(decide(&rig, RIG_PROPOSAL, body), 200);
	assert_status(decide(&rig, RIG_PROPOSAL, body), 409);
	rig.proposal_state = PROPOSAL_PENDING;
	rig.has_no_session = true;
	assert_status(decide(&rig, RIG_PROPOSAL, body), 409);
	assert_int_equal(rig.decisions, 2);
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			approvals_are_listed_to_the_owner_and_to_administrators),
		cmocka_unit_test(approvals_come_whole_from_a_list_in_parts),
		cmocka_unit_test(decisions_say_what_they_are),
		cmocka_unit_test(only_the_owner_and_administrators_decide),
		cmocka_unit_test(
			what_is_unknown_decided_or_over_cannot_be_decided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
