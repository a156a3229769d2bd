#include "tests/unit/gateway/control/rig.h"

#define H "Host: localhost\r\n"

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	while ((text = strstr(text, part))) {
		count++;
		text += strlen(part);
	}
	return count;
}

/* The fake ledger tells of its rows from..to. */
static void tell_rows(struct rig *rig, uint64_t from, uint64_t to)
{
	char text[160];

	for (uint64_t at = from; at <= to; at++) {
		struct ledger_row row = {.sequence = at};
		const struct msg_ledger_rows rows = {&row, 1, false};

		(void)snprintf(text, sizeof(text),
			       "{\"sequence\":%u,\"allowed\":%s,"
			       "\"session\":\"" RIG_ID "\"}",
			       (unsigned)at, at % 2 ? "true" : "false");
		row.json = bytes_str(text);
		events_tell(&rig->control, &rows);
	}
	rig->rows = to;
}

static void audit_asks_page_after_page(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	rig.rows = 200;
	answer = rig_ask(&rig, "GET /v1/audit HTTP/1.1\r\n" H "\r\n");
	assert_status(answer, 200);
	assert_contains(answer, "application/x-ndjson");
	assert_int_equal(count_of(answer, "\"sequence\""), 200);
	assert_contains(answer, "\r\n0\r\n\r\n");
	assert_int_equal(rig.queries, 4);
	rig_release(&rig);
}

static void audit_stops_at_its_limit(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	rig.rows = 200;
	answer = rig_ask(&rig, "GET /v1/audit?after=10&limit=70 HTTP/1.1\r\n" H
			       "\r\n");
	assert_int_equal(count_of(answer, "\"sequence\""), 70);
	assert_contains(answer, "{\"sequence\":11,");
	assert_contains(answer, "{\"sequence\":80,");
	rig_release(&rig);
}

static void audit_of_http_1_0_ends_with_its_connection(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	rig.rows = 1;
	answer = rig_ask(&rig, "GET /v1/audit HTTP/1.0\r\n" H "\r\n");
	assert_status(answer, 200);
	assert_null(strstr(answer, "chunked"));
	assert_contains(answer, "\r\n\r\n{\"sequence\":1,");
	assert_null(rig.control.server.conns);
	rig_release(&rig);
}

static void audit_refusal_comes_before_any_row(void **state)
{
	const char *said;
	struct rig rig;

	(void)state;
	rig_init(&rig, 0, true);
	rig.refuse_with = CONSTRAINT_resource_limit;
	assert_status(rig_ask(&rig, "GET /v1/audit HTTP/1.1\r\n" H "\r\n"),
		      429);
	said = rig_ask(&rig,
		       "GET /v1/audit?kind=nothing HTTP/1.1\r\n" H "\r\n");
	assert_status(said, 400);
	/* All of them, from the first to the last. */
	assert_contains(said, "kinds of records are: session.created ");
	assert_contains(said, " admin approval\"");
	rig_release(&rig);
}

static void verify_goes_on_to_the_last_row(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 0, true);
	rig.verify_steps = 3;
	assert_contains(
		rig_ask(&rig, "GET /v1/audit/verify HTTP/1.1\r\n" H "\r\n"),
		"{\"intact\":true,\"first\":11,\"rows\":30}");
	rig.failing = "since then";
	assert_contains(
		rig_ask(&rig, "GET /v1/audit/verify HTTP/1.1\r\n" H "\r\n"),
		"\"failing\":\"since then\"}");
	rig_release(&rig);
}

static void events_come_as_they_are_stored(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	rig.rows = 5;
	answer = rig_ask(&rig, "GET /v1/events HTTP/1.1\r\n" H "\r\n");
	assert_status(answer, 200);
	assert_int_equal(count_of(answer, "\"sequence\""), 0);
	tell_rows(&rig, 6, 7);
	answer = rig_receive(&rig, rig.client);
	assert_contains(answer, "{\"sequence\":6,");
	assert_contains(answer, "{\"sequence\":7,");
	rig_release(&rig);
}

static void events_can_be_denials_of_one_session_alone(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 1000, false);
	(void)rig_ask(&rig, "GET /v1/events?denied=1&session=" RIG_ID
			    " HTTP/1.1\r\n" H "\r\n");
	tell_rows(&rig, 1, 4);
	answer = rig_receive(&rig, rig.client);
	assert_int_equal(count_of(answer, "\"sequence\""), 2);
	assert_contains(answer, "{\"sequence\":2,");
	assert_contains(answer, "{\"sequence\":4,");
	rig_release(&rig);
	rig_init(&rig, 0, true);
	(void)rig_ask(&rig,
		      "GET /v1/events?session=s-other HTTP/1.1\r\n" H "\r\n");
	tell_rows(&rig, 1, 4);
	assert_string_equal(rig_receive(&rig, rig.client), "");
	rig_release(&rig);
}

static void events_after_a_row_begin_with_what_came_since(void **state)
{
	struct rig rig;
	const char *answer;

	(void)state;
	rig_init(&rig, 0, true);
	rig.rows = 100;
	answer = rig_ask(&rig, "GET /v1/events?after=30 HTTP/1.1\r\n" H "\r\n");
	assert_int_equal(count_of(answer, "\"sequence\""), 70);
	tell_rows(&rig, 99, 101);
	answer = rig_receive(&rig, rig.client);
	assert_int_equal(count_of(answer, "\"sequence\""), 1);
	assert_contains(answer, "{\"sequence\":101,");
	rig_release(&rig);
}

/* More than the socket and the queue hold; then all of it is read. */
static void events_of_a_slow_reader_are_neither_lost_nor_doubled(void **state)
{
	enum { ROWS = 12000 };
	struct rig rig;
	size_t got = 0;

	(void)state;
	rig_init(&rig, 0, true);
	(void)rig_ask(&rig, "GET /v1/events HTTP/1.1\r\n" H "\r\n");
	tell_rows(&rig, 1, ROWS);
	assert_true(io_out_len(rig.control.server.conns->io) < 600 * 1024);
	for (int i = 0; i < 2000 && got < ROWS; i++) {
		got += count_of(rig_receive(&rig, rig.client), "\"sequence\"");
		assert_non_null(rig.control.server.conns);
	}
	assert_int_equal(got, ROWS);
	assert_true(rig.queries > 10);
	tell_rows(&rig, ROWS + 1, ROWS + 1);
	assert_contains(rig_receive(&rig, rig.client), "{\"sequence\":12001,");
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(audit_asks_page_after_page),
		cmocka_unit_test(audit_stops_at_its_limit),
		cmocka_unit_test(audit_of_http_1_0_ends_with_its_connection),
		cmocka_unit_test(audit_refusal_comes_before_any_row),
		cmocka_unit_test(verify_goes_on_to_the_last_row),
		cmocka_unit_test(events_come_as_they_are_stored),
		cmocka_unit_test(events_can_be_denials_of_one_session_alone),
		cmocka_unit_test(events_after_a_row_begin_with_what_came_since),
		cmocka_unit_test(
			events_of_a_slow_reader_are_neither_lost_nor_doubled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
