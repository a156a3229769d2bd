#include <fcntl.h>

#include "common/clock.h"
#include "tests/unit/gateway/control/rig.h"

#define H      "Host: localhost\r\n"
#define POLICY "version: 1\\nname: small\\n"

static const char *post(struct rig *rig, const char *path, const char *body)
{
	char request[4096];

	(void)snprintf(request, sizeof(request),
		       "POST %s HTTP/1.1\r\n" H "Content-Length: %zu\r\n\r\n%s",
		       path, strlen(body), body);
	return rig_ask(rig, request);
}

static void session_create_seals_a_package_for_the_asker(void **state)
{
	const struct session_package *session;
	uint8_t hash[DIGEST_LEN];
	const char *answer, *lease;
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	answer = post(&rig, "/v1/sessions",
		      "{\"policy\":\"" POLICY "\",\"branch\":\"agent/42\","
		      "\"repo\":\"https://forge.example/o/r\",\"ttl_s\":60}");
	assert_status(answer, 201);
	assert_contains(answer, "\"ca_pkcs12\":\"cDEy\"");
	assert_non_null(rig.package);
	session = &rig.package->session;
	assert_int_equal(session->owner_uid, 1000);
	assert_true(bytes_is(session->branch, "agent/42"));
	assert_true(bytes_is(session->policy_name, "small"));
	assert_int_equal(session->expires_ms - session->created_ms, 60000);
	lease = strstr(answer, "\"lease\":\"");
	assert_non_null(lease);
	digest_sha256(bytes_from(lease + 9, 40), bytes_from(NULL, 0), hash);
	assert_memory_equal(session->lease_hash.data, hash, DIGEST_LEN);
	assert_int_equal(rig.revocations, 0);
	rig_release(&rig);
}

/* A client that was killed between creating and attaching leaves nothing. */
static void session_create_ends_a_held_one_with_its_connection(void **state)
{
	static const char *const bodies[] = {
		"{\"policy\":\"" POLICY "\",\"hold\":true}",
		"{\"policy\":\"" POLICY "\",\"hold\":false}",
		"{\"policy\":\"" POLICY "\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct rig rig;

		rig_init(&rig, 1000, false);
		assert_status(post(&rig, "/v1/sessions", bodies[i]), 201);
		assert_int_equal(shutdown(rig.client, SHUT_RDWR), 0);
		rig_turns(&rig);
		assert_int_equal(rig.revocations, i == 0 ? 1 : 0);
		assert_null(rig.control.attached);
		rig_release(&rig);
	}
}

static void session_create_ends_all_that_a_connection_holds(void **state)
{
	static const char held[] = "{\"policy\":\"" POLICY "\",\"hold\":true}";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	for (int i = 0; i < CONN_HELD_MAX; i++)
		assert_status(post(&rig, "/v1/sessions", held), 201);
	assert_status(post(&rig, "/v1/sessions", held), 422);
	assert_int_equal(rig.creations, CONN_HELD_MAX);
	assert_status(post(&rig, "/v1/sessions", "{\"policy\":\"" POLICY "\"}"),
		      201);
	assert_int_equal(shutdown(rig.client, SHUT_RDWR), 0);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, CONN_HELD_MAX);
	assert_null(rig.control.attached);
	rig_release(&rig);
}

/* What was tried is on record, and so is that it was not done. */
static void a_session_that_is_not_made_is_on_record_as_such(void **state)
{
	static const char body[] = "{\"policy\":\"" POLICY "\"}";
	struct control_rate *rate;
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	assert_status(post(&rig, "/v1/sessions", body), 201);
	assert_string_equal(rig.records, "allowed session.create, ");
	rig.records[0] = '\0';
	rig.refuse_with = CONSTRAINT_resource_limit;
	assert_status(post(&rig, "/v1/sessions", body), 429);
	assert_string_equal(rig.records,
			    "allowed session.create, denied session.create, ");
	rig.records[0] = '\0';
	rate = &rig.control.rates[MSG_SESSION_CREATE];
	rate->open = 100000;
	assert_status(post(&rig, "/v1/sessions", body), 429);
	assert_string_equal(rig.records,
			    "allowed session.create, denied session.create, ");
	rate->open = 0;
	rig_release(&rig);
}

/* Else any user of the host has every secret sent to a host of his own. */
static void session_create_gives_secrets_to_administrators_alone(void **state)
{
	static const char body[] =
		"{\"policy\":\"" POLICY
		"network: {rules: [{hosts: [a.example], "
		"credential: c, action: allow}]}\\n"
		"credentials: [{name: c, secret: s, attach: bearer, "
		"hosts: [a.example]}]\\n\"}";
	const char *said;
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	said = post(&rig, "/v1/sessions", body);
	assert_status(said, 403);
	assert_contains(said, "the group sallyport");
	assert_contains(said, "SALLYPORT_RUN");
	assert_int_equal(rig.creations, 0);
	rig_release(&rig);
	rig_init(&rig, 0, true);
	assert_status(post(&rig, "/v1/sessions", body), 201);
	rig_release(&rig);
}

static void session_create_refuses_what_is_wrong_and_says_what(void **state)
{
	static const struct {
		const char *body, *part;
		unsigned status;
	} rows[] = {
		{"{\"policy\":\"version: 1\\nnetwrk: {}\\n\"}",
		 "did you mean \\\"network\\\"", 422},
		{"{\"policy\":\"" POLICY "\",\"ttl_s\":0}", "ttl_s", 422},
		{"{\"policy\":\"" POLICY "\",\"ttl_s\":604801}", "ttl_s", 422},
		{"{\"policy\":\"" POLICY "\",\"branch\":\"a..b\"}", "branch",
		 422},
		{"{\"policy\":\"" POLICY "\",\"repo\":\"ssh://x\"}", "repo",
		 422},
		{"{\"policy\":\"" POLICY "\",\"policy_name\":\"a\\nb\"}",
		 "policy_name", 422},
		{"{\"policy\":\"" POLICY "\",\"extra\":1}", "extra", 400},
		{"{\"policy\":\"a\",\"policy\":\"b\"}", "duplicate", 400},
		{"{\"policy\":1}", "the body", 400},
		{"{}", "policy", 400},
		{"[]", "the body", 400},
		{"{\"policy\":\"\\u0000\"}", "the body", 400},
	};
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *answer = post(&rig, "/v1/sessions", rows[i].body);

		assert_status(answer, rows[i].status);
		assert_contains(answer, rows[i].part);
	}
	assert_int_equal(rig.creations, 0);
	rig_release(&rig);
}

/* Whoever asks for a session is gone while this question is open. */
static void create_and_leave(struct rig *rig, uint16_t question)
{
	static const char body[] = "{\"policy\":\"" POLICY "\"}";
	char request[256];
	struct err err;

	(void)snprintf(request, sizeof(request),
		       "POST /v1/sessions HTTP/1.1\r\n" H
		       "Content-Length: %zu\r\n\r\n%s",
		       strlen(body), body);
	rig_send(rig->client, request);
	for (int i = 0; i < 50 && rig->control.server.conns; i++) {
		assert_int_equal(io_loop_turn(rig->loop, 0, &err), 0);
		if (rig->control.rates[question].open)
			http_server_close(&rig->control.server);
	}
	assert_null(rig->control.server.conns);
	rig_turns(rig);
}

static void session_that_nobody_waits_for_is_ended_again(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	create_and_leave(&rig, MSG_SESSION_CREATE);
	assert_int_equal(rig.creations, 1);
	assert_int_equal(rig.revocations, 1);
	assert_string_equal(rig.reason, "ended");
	rig_release(&rig);
}

#define FDS_MAX 256

static void list_fds(bool open[FDS_MAX])
{
	for (int fd = 0; fd < FDS_MAX; fd++)
		open[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void session_that_is_left_before_the_ca_is_there(void **state)
{
	bool before[FDS_MAX], after[FDS_MAX];
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	list_fds(before);
	/* The other end of the rig's. */
	before[rig.client - 1] = false;
	create_and_leave(&rig, MSG_CA_GET);
	assert_int_equal(rig.creations, 0);
	/* Nor its package, which was sealed, nor less than there was. */
	list_fds(after);
	assert_memory_equal(before, after, sizeof(before));
	rig_release(&rig);
}

static void session_is_ended_by_its_owner(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	assert_status(rig_ask(&rig, "DELETE /v1/sessions/" RIG_ID
				    " HTTP/1.1\r\n" H "\r\n"),
		      204);
	assert_string_equal(rig.reason, "revoked");
	assert_status(rig_ask(&rig, "DELETE /v1/sessions/" RIG_ID
				    "?reason=ended HTTP/1.1\r\n" H "\r\n"),
		      204);
	assert_string_equal(rig.reason, "ended");
	assert_status(rig_ask(&rig, "DELETE /v1/sessions/" RIG_ID
				    "?reason=bored HTTP/1.1\r\n" H "\r\n"),
		      400);
	assert_int_equal(rig.revocations, 2);
	rig_release(&rig);
}

static void session_of_somebody_else_is_out_of_reach(void **state)
{
	static const char *const requests[] = {
		"DELETE /v1/sessions/" RIG_ID " HTTP/1.1\r\n" H "\r\n",
		"GET /v1/sessions/" RIG_ID " HTTP/1.1\r\n" H "\r\n",
		"POST /v1/sessions/" RIG_ID "/records HTTP/1.1\r\n" H
		"Content-Length: 14\r\n\r\n{\"detail\":\"x\"}",
		"GET /v1/audit?session=" RIG_ID " HTTP/1.1\r\n" H "\r\n",
		"GET /v1/events?session=" RIG_ID " HTTP/1.1\r\n" H "\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct rig rig;

		rig_init(&rig, 1001, false);
		assert_status(rig_ask(&rig, requests[i]), 403);
		assert_int_equal(rig.revocations, 0);
		assert_int_equal(rig.queries, 0);
		rig_release(&rig);
		/* Its owner may. */
		rig_init(&rig, 1000, false);
		if (strncmp(rig_ask(&rig, requests[i]), "HTTP/1.1 2", 10) != 0)
			fail_msg("%s", requests[i]);
		rig_release(&rig);
	}
}

static void session_list_shows_an_ordinary_user_their_own(void **state)
{
	static const char request[] = "GET /v1/sessions HTTP/1.1\r\n" H "\r\n";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1001, false);
	assert_contains(rig_ask(&rig, request),
			"{\"sessions\":[],\"total\":0}");
	rig_release(&rig);
	rig_init(&rig, 1000, false);
	assert_contains(rig_ask(&rig, request), "\"owner_uid\":1000");
	rig_release(&rig);
	rig_init(&rig, 0, true);
	assert_contains(rig_ask(&rig, request), "\"total\":1}");
	rig_release(&rig);
}

static void session_record_wants_a_known_constraint(void **state)
{
	static const char path[] = "/v1/sessions/" RIG_ID "/records";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	assert_status(post(&rig, path,
			   "{\"detail\":\"x\",\"constraint\":\"filesystem\"}"),
		      204);
	assert_status(post(&rig, path,
			   "{\"detail\":\"x\",\"constraint\":\"bad luck\"}"),
		      400);
	assert_status(post(&rig, path, "{\"constraint\":\"filesystem\"}"), 400);
	rig.has_no_session = true;
	assert_status(post(&rig, path, "{\"detail\":\"x\"}"), 404);
	rig_release(&rig);
}

/* ---- renewal ---- */

#define RENEW "/v1/sessions/" RIG_ID "/renew"

static void session_renew_is_recorded_as_it_went(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.created_ms = clock_wall_ms();
	assert_status(post(&rig, RENEW, "{\"ttl_s\":60}"), 200);
	assert_int_equal(rig.renewals, 1);
	assert_string_equal(rig.records, "allowed session.renew, ");
	rig_release(&rig);
}

static void session_renew_that_the_warden_refuses_is_recorded_so(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.created_ms = clock_wall_ms();
	rig.refuse_renewal = CONSTRAINT_session_revoked;
	assert_status(post(&rig, RENEW, "{\"ttl_s\":60}"), 404);
	assert_string_equal(rig.records, "denied session.renew, ");
	rig_release(&rig);
}

static void session_renew_is_recorded_though_nobody_waits(void **state)
{
	static const char request[] =
		"POST " RENEW " HTTP/1.1\r\n" H "Content-Length: 12\r\n\r\n"
		"{\"ttl_s\":60}";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.created_ms = clock_wall_ms();
	rig.closes_before_renewal = true;
	assert_int_equal(send(rig.client, request, strlen(request), 0),
			 (int)strlen(request));
	rig_turns(&rig);
	assert_int_equal(rig.renewals, 1);
	assert_string_equal(rig.records, "allowed session.renew, ");
	rig_release(&rig);
}

static void session_renew_has_a_bound_in_all(void **state)
{
	const uint64_t life_ms = SESSION_LIFETIME_MAX_S * 1000ull;
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.created_ms = clock_wall_ms() - life_ms + 600000;
	assert_status(post(&rig, RENEW, "{\"ttl_s\":3600}"), 422);
	assert_int_equal(rig.renewals, 0);
	assert_string_equal(rig.records, "denied session.renew, ");
	assert_status(post(&rig, RENEW, "{\"ttl_s\":60}"), 200);
	assert_int_equal(rig.renewals, 1);
	rig_release(&rig);
}

#define PUT_POLICY                                                             \
	"PUT /v1/sessions/" RIG_ID "/policy HTTP/1.1\r\n" H                    \
	"Content-Length: 40\r\n\r\n{\"policy\":\"version: 1\\nname: "          \
	"another\\n\"}"

/* What was tried is on record, and so is that it was not done. */
static void
a_change_of_policy_that_is_not_made_is_on_record_as_such(void **state)
{
	struct control_rate *rate;
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rate = &rig.control.rates[MSG_SESSION_CHANGE];
	assert_status(post(&rig, "/v1/sessions", "{\"policy\":\"" POLICY "\"}"),
		      201);
	rig.records[0] = '\0';
	rate->open = 100000;
	assert_status(rig_ask(&rig, PUT_POLICY), 429);
	assert_string_equal(rig.records,
			    "allowed session.policy, denied session.policy, ");
	rate->open = 0;
	rig.records[0] = '\0';
	assert_status(rig_ask(&rig, PUT_POLICY), 200);
	assert_string_equal(rig.records, "allowed session.policy, ");
	rig_release(&rig);
}

/* The body that is wiped is the one that was read, not the next one's. */
static void what_is_lent_in_vain_leaves_the_next_request_whole(void **state)
{
	static const char next[] = "{\"policy\":\"" POLICY "\"}";
	char requests[512];
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.control.rates[MSG_LENT_PUT].open = 100000;
	(void)snprintf(requests, sizeof(requests),
		       "PUT /v1/sessions/" RIG_ID
		       "/secrets?name=k HTTP/1.1\r\n" H
		       "Content-Length: 5\r\n\r\nvalue"
		       "POST /v1/sessions HTTP/1.1\r\n" H
		       "Content-Length: %zu\r\n\r\n%.10s",
		       strlen(next), next);
	assert_status(rig_ask(&rig, requests), 429);
	assert_status(rig_ask(&rig, next + 10), 201);
	assert_int_equal(rig.creations, 1);
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_create_seals_a_package_for_the_asker),
		cmocka_unit_test(
			session_create_ends_a_held_one_with_its_connection),
		cmocka_unit_test(
			session_create_ends_all_that_a_connection_holds),
		cmocka_unit_test(
			a_session_that_is_not_made_is_on_record_as_such),
		cmocka_unit_test(
			session_create_gives_secrets_to_administrators_alone),
		cmocka_unit_test(
			session_create_refuses_what_is_wrong_and_says_what),
		cmocka_unit_test(session_that_nobody_waits_for_is_ended_again),
		cmocka_unit_test(session_that_is_left_before_the_ca_is_there),
		cmocka_unit_test(
			a_change_of_policy_that_is_not_made_is_on_record_as_such),
		cmocka_unit_test(
			what_is_lent_in_vain_leaves_the_next_request_whole),
		cmocka_unit_test(session_is_ended_by_its_owner),
		cmocka_unit_test(session_of_somebody_else_is_out_of_reach),
		cmocka_unit_test(session_list_shows_an_ordinary_user_their_own),
		cmocka_unit_test(session_record_wants_a_known_constraint),
		cmocka_unit_test(session_renew_is_recorded_as_it_went),
		cmocka_unit_test(
			session_renew_that_the_warden_refuses_is_recorded_so),
		cmocka_unit_test(session_renew_is_recorded_though_nobody_waits),
		cmocka_unit_test(session_renew_has_a_bound_in_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
