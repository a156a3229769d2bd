#include "tests/unit/gateway/control/rig.h"

#define H "Host: localhost\r\n"

static void conn_refuses_what_is_not_its_own(void **state)
{
	static const struct {
		const char *request;
		unsigned status;
	} rows[] = {
		{"GET /v1/nothing HTTP/1.1\r\n" H "\r\n", 404},
		{"PATCH /v1/sessions HTTP/1.1\r\n" H "\r\n", 405},
		{"GET /v1/audit?sesion=x HTTP/1.1\r\n" H "\r\n", 400},
		{"GET /v1/sessions?after=1 HTTP/1.1\r\n" H "\r\n", 400},
		{"GET http://h/v1/ca HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", 400},
		{"GET /v1/ca HTTP/1.1\r\n\r\n", 400},
		{"GET /v1/ca HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\n", 413},
		{"PUT /v1/secrets/a HTTP/1.1\r\n" H
		 "Content-Length: 16385\r\n\r\n",
		 413},
		{"TRACE /v1/ca HTTP/1.1\r\n" H "\r\n", 405},
		{"GET /v1/ca HTTP/1.1\r\n" H "Content-Length: 1\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n",
		 400},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig;
		const char *answer;

		rig_init(&rig, 0, true);
		answer = rig_ask(&rig, rows[i].request);
		assert_status(answer, rows[i].status);
		assert_contains(answer, "application/problem+json");
		rig_release(&rig);
	}
}

static void conn_answers_a_request_that_comes_byte_by_byte(void **state)
{
	static const char request[] = "GET /v1/ca HTTP/1.1\r\n" H "\r\n";
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 1000, false);
	for (size_t i = 0; i + 1 < sizeof(request); i++) {
		struct err err;

		assert_int_equal(send(rig.client, request + i, 1, 0), 1);
		assert_int_equal(io_loop_turn(rig.loop, 1, &err), 0);
	}
	answer = rig_receive(&rig, rig.client);
	assert_status(answer, 200);
	assert_contains(answer, "{\"pem\":\"-----CA-----\\n\","
				"\"pkcs12\":\"cDEy\"}");
	rig_release(&rig);
}

static void conn_answers_requests_one_after_the_other(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	answer = rig_ask(&rig, "GET /v1/ca HTTP/1.1\r\n" H "\r\n"
			       "GET /v1/nothing HTTP/1.1\r\n" H "\r\n"
			       "GET /v1/sessions/" RIG_ID " HTTP/1.1\r\n" H
			       "Connection: close\r\n\r\n");
	assert_status(answer, 200);
	answer = strstr(answer, "HTTP/1.1 404 ");
	assert_non_null(answer);
	answer = strstr(answer, "HTTP/1.1 200 ");
	assert_non_null(answer);
	assert_contains(answer, "\"id\":\"" RIG_ID "\"");
	assert_contains(answer, "Connection: close");
	assert_null(rig.control.server.conns);
	rig_release(&rig);
}

static void conn_tells_of_all_processes_however_many(void **state)
{
	static const uint32_t counts[] = {0, 5, PROCESSES_TOLD_MAX,
					  2 * PROCESSES_TOLD_MAX + 50};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct rig rig;
		const char *answer;
		char last[32];
		size_t told = 0;

		rig_init(&rig, 0, true);
		rig.processes = counts[i];
		answer = rig_ask(&rig, "GET /v1/status HTTP/1.1\r\n" H "\r\n");
		assert_status(answer, 200);
		(void)snprintf(last, sizeof(last), "\"pid\":%u,",
			       counts[i] - 1);
		assert_true(counts[i] == 0 || strstr(answer, last));
		while ((answer = strstr(answer, "\"role\":\"edge\""))) {
			answer++;
			told++;
		}
		assert_int_equal(told, counts[i]);
		rig_release(&rig);
	}
}

static void conn_tells_that_no_record_can_be_stored(void **state)
{
	static const char ask[] = "GET /v1/status HTTP/1.1\r\n" H "\r\n";
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	rig.processes = 1;
	/* The ledger has more rows than it looks at for one question. */
	rig.verify_steps = 3;
	answer = rig_ask(&rig, ask);
	assert_status(answer, 200);
	assert_null(strstr(answer, "failing"));
	assert_int_equal(rig.verify_steps, 2);
	rig.failing = "since then";
	assert_contains(rig_ask(&rig, ask), "\"failing\":\"since then\"");
	/* Nor while there is no ledger; all else is told still. */
	DL_DELETE(rig.keeper.peers, &rig.peers[2]);
	answer = rig_ask(&rig, ask);
	assert_status(answer, 200);
	assert_contains(answer, "\"failing\":\"the ledger is not there");
	assert_contains(answer, "\"role\":\"edge\"");
	rig_release(&rig);
}

static void conn_tells_everybody_the_guardrail(void **state)
{
	static const char ask[] = "GET /v1/guardrail HTTP/1.1\r\n" H "\r\n";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	assert_contains(rig_ask(&rig, ask), "{\"text\":\"\"}");
	rig.keeper.config.guardrail = bytes_str("version: 1\n");
	assert_contains(rig_ask(&rig, ask), "{\"text\":\"version: 1\\n\"}");
	rig_release(&rig);
}

static void
conn_refuses_an_ordinary_user_what_is_for_administrators(void **state)
{
	static const char *const requests[] = {
		"GET /v1/status HTTP/1.1\r\n" H "\r\n",
		"GET /v1/secrets HTTP/1.1\r\n" H "\r\n",
		"PUT /v1/secrets/a HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\nx",
		"DELETE /v1/secrets/a HTTP/1.1\r\n" H "\r\n",
		"GET /v1/audit HTTP/1.1\r\n" H "\r\n",
		"GET /v1/events HTTP/1.1\r\n" H "\r\n",
		"GET /v1/audit/verify HTTP/1.1\r\n" H "\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct rig rig;

		rig_init(&rig, 1000, false);
		assert_status(rig_ask(&rig, requests[i]), 403);
		assert_string_equal(rig.secret, "");
		assert_int_equal(rig.queries, 0);
		rig_release(&rig);
	}
}

/* Also of what could not be asked for somebody asked. */
static void a_change_of_the_vault_is_on_record_as_it_went(void **state)
{
	static const char put[] = "PUT /v1/secrets/gh HTTP/1.1\r\n" H
				  "Content-Length: 1\r\n\r\nx";
	struct rig rig;

	(void)state;
	rig_init(&rig, 0, true);
	assert_status(rig_ask(&rig, put), 204);
	assert_string_equal(rig.records, "allowed secret.put, ");
	rig.records[0] = '\0';
	rig.control.rates[MSG_SECRET_PUT].open = 100000;
	assert_status(rig_ask(&rig, put), 429);
	assert_string_equal(rig.records, "denied secret.put, ");
	rig.control.rates[MSG_SECRET_PUT].open = 0;
	rig_release(&rig);
}

static void conn_puts_a_secret_and_keeps_nothing_of_it(void **state)
{
	struct rig rig;
	const struct buf *in;

	(void)state;
	rig_init(&rig, 0, true);
	assert_status(rig_ask(&rig, "PUT /v1/secrets/gh HTTP/1.1\r\n" H
				    "Content-Length: 9\r\n\r\nghp_VALUE"),
		      204);
	assert_string_equal(rig.secret, "gh=ghp_VALUE");
	in = io_in(rig.control.server.conns->io);
	assert_int_equal(bytes_find_bytes(bytes_from(in->data, in->size),
					  bytes_str("VALUE"), 0),
			 -1);
	assert_null(rig.control.server.conns->body.data);
	rig_release(&rig);
}

/* A header line that long. */
static void send_line(int fd)
{
	char line[6000];

	memset(line, 'a', sizeof(line));
	line[1] = ':';
	line[sizeof(line) - 3] = '\r';
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	rig_send(fd, line);
}

/* A value that comes in two parts: another connection has the memory of the
 * first one by then, and fills its beginning alone. */
static bool memory_of_another_holds(bool wipes, const char *text)
{
	struct rig rig;
	const struct buf *in;
	bool holds;
	int other;

	rig_init(&rig, 0, true);
	if (wipes)
		io_loop_wipe(rig.loop);
	rig_send(rig.client,
		 "PUT /v1/secrets/gh HTTP/1.1\r\n" H "Content-Length: 10\r\n");
	for (int i = 0; i < 4; i++)
		send_line(rig.client);
	rig_send(rig.client, "\r\nghp_FIRST");
	rig_turns(&rig);
	other = rig_connect(&rig, 0, true);
	rig_send(other, "GET /v1/ca HTTP/1.1\r\n");
	for (int i = 0; i < 3; i++)
		send_line(other);
	rig_turns(&rig);
	rig_send(rig.client, "2");
	rig_turns(&rig);
	assert_string_equal(rig.secret, "gh=ghp_FIRST2");
	/* Who was served last waits at the end. */
	in = io_in(rig.control.server.conns->io);
	assert_true(buf_len(in) > 17000);
	holds = bytes_find_bytes(bytes_from(in->data, in->size),
				 bytes_str(text), 0) >= 0;
	(void)close(other);
	rig_release(&rig);
	return holds;
}

static void conn_gives_no_memory_on_that_held_a_secret(void **state)
{
	(void)state;
	assert_true(memory_of_another_holds(false, "FIRST"));
	assert_false(memory_of_another_holds(true, "FIRST"));
}

static void conn_tells_what_another_process_refused(void **state)
{
	static const struct {
		uint16_t constraint;
		unsigned status;
	} rows[] = {
		{CONSTRAINT_credential_unavailable, 404},
		{CONSTRAINT_session_revoked, 404},
		{CONSTRAINT_resource_limit, 429},
		{CONSTRAINT_request_malformed, 400},
		{CONSTRAINT_audit_unavailable, 503},
		{CONSTRAINT_internal, 500},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig;
		const char *answer;

		rig_init(&rig, 0, true);
		rig.refuse_with = rows[i].constraint;
		answer = rig_ask(&rig, "PUT /v1/secrets/gh HTTP/1.1\r\n" H
				       "Content-Length: 1\r\n\r\nx");
		assert_status(answer, rows[i].status);
		assert_contains(answer, "refused by the rig");
		/* When to come again, and to nobody else. */
		assert_int_equal(strstr(answer, "\r\nRetry-After: 1\r\n") !=
					 NULL,
				 rows[i].status == 429);
		rig_release(&rig);
	}
}

static void conn_says_503_when_the_process_is_away(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 0, true);
	rig.keeper.peers = NULL;
	assert_status(rig_ask(&rig, "GET /v1/secrets HTTP/1.1\r\n" H "\r\n"),
		      503);
	rig_release(&rig);
}

/* As another user than root, if this one may be another. */
static void become_somebody(uid_t uid)
{
	if (getuid() == 0)
		assert_int_equal(seteuid(uid), 0);
}

static void conn_lets_one_user_have_so_many_connections(void **state)
{
	int fds[CONTROL_CONNS_OF_USER_MAX + 4];
	struct rig rig;

	(void)state;
	rig_init(&rig, 0, true);
	rig.control.rules.own_uid = 12344;
	become_somebody(12345);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = rig_connect(&rig, 12345, false);
	become_somebody(0);
	/* And the rig's own. */
	assert_int_equal(rig.control.server.conn_count,
			 CONTROL_CONNS_OF_USER_MAX + 1);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	rig_turns(&rig);
	assert_int_equal(rig.control.server.conn_count, 1);
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conn_refuses_what_is_not_its_own),
		cmocka_unit_test(
			conn_answers_a_request_that_comes_byte_by_byte),
		cmocka_unit_test(conn_answers_requests_one_after_the_other),
		cmocka_unit_test(conn_tells_of_all_processes_however_many),
		cmocka_unit_test(conn_tells_that_no_record_can_be_stored),
		cmocka_unit_test(conn_tells_everybody_the_guardrail),
		cmocka_unit_test(
			conn_refuses_an_ordinary_user_what_is_for_administrators),
		cmocka_unit_test(a_change_of_the_vault_is_on_record_as_it_went),
		cmocka_unit_test(conn_puts_a_secret_and_keeps_nothing_of_it),
		cmocka_unit_test(conn_gives_no_memory_on_that_held_a_secret),
		cmocka_unit_test(conn_tells_what_another_process_refused),
		cmocka_unit_test(conn_says_503_when_the_process_is_away),
		cmocka_unit_test(conn_lets_one_user_have_so_many_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
