#include "tests/unit/gateway/courier/rig_frames.h"

/* A table of requests that an edge may send, and whether they pass. */
struct row {
	const char *what;
	struct leg_request request;
	enum constraint refused; /* none: it is sent */
};

#define REQUEST(method_, path_)                                                \
	{.request_id = BYTES_LITERAL("r-1"),                                   \
	 .rule = BYTES_LITERAL("rule"),                                        \
	 .method = BYTES_LITERAL(method_),                                     \
	 .path = BYTES_LITERAL(path_)}

static const struct leg_request get = REQUEST("GET", "/api?q=secret");

static void set_up_leg(struct rig *rig)
{
	rig_set_up(rig);
	rig_give_session(rig, UINT64_MAX);
	rig_open_leg(rig, "forge", "good.test");
	assert_true(rig->leg >= 0);
}

static void leg_sends_a_request_with_the_token_and_no_other(void **state)
{
	static const struct leg_field fields[] = {
		{BYTES_LITERAL("Accept"), BYTES_LITERAL("*/*")},
		{BYTES_LITERAL("Authorization"), BYTES_LITERAL("Bearer mine")},
		{BYTES_LITERAL("cookie"), BYTES_LITERAL("a=b")},
		{BYTES_LITERAL("X-Api_Key"), BYTES_LITERAL("mine")},
		{BYTES_LITERAL("Host"), BYTES_LITERAL("evil.test")},
		{BYTES_LITERAL("Content-Length"), BYTES_LITERAL("9")},
		{BYTES_LITERAL("Transfer-Encoding"), BYTES_LITERAL("chunked")},
		{BYTES_LITERAL("Connection"), BYTES_LITERAL("close")},
	};
	struct leg_request request = get;
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	request.fields = fields;
	request.fields_count = ARRAY_SIZE(fields);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_frame(&rig, LEG_END, "");
	rig_grant(&rig);
	assert_arrived(&rig, "GET /api?q=secret HTTP/1.1\r\n"
			     "Host: good.test\r\n"
			     "Accept: */*\r\n"
			     "Authorization: Bearer " RIG_TOKEN "\r\n"
			     "Accept-Encoding: identity\r\n"
			     "\r\n");
	/* The query is no business of the record's. */
	assert_string_equal(rig.recorded,
			    "secret.use s-1 good.test:443 GET /api forge");
	rig_tear_down(&rig);
}

static void leg_sends_nothing_before_the_record_is_on_disk(void **state)
{
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rig_frame(&rig, LEG_END, "");
	rig_answer_token(&rig);
	assert_int_equal(buf_len(&rig.arrived), 0);
	rig_answer_record(&rig);
	assert_true(buf_len(&rig.arrived) > 0);
	rig_tear_down(&rig);
}

static void leg_sends_nothing_before_it_has_the_token(void **state)
{
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rig_frame(&rig, LEG_END, "");
	rig_answer_record(&rig);
	assert_int_equal(buf_len(&rig.arrived), 0);
	rig_answer_token(&rig);
	assert_true(buf_len(&rig.arrived) > 0);
	rig_tear_down(&rig);
}

static void leg_refuses_what_the_ledger_did_not_keep(void **state)
{
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rig_frame(&rig, LEG_END, "");
	rig_answer_token(&rig);
	fake_advance(rig.loop, 4900);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_none);
	fake_advance(rig.loop, 200);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_audit_unavailable);
	assert_int_equal(buf_len(&rig.arrived), 0);
	/* The answer that comes now changes nothing. */
	rig_answer_record(&rig);
	assert_int_equal(buf_len(&rig.arrived), 0);
	rig_tear_down(&rig);
}

static void leg_refuses_when_the_ledger_is_away(void **state)
{
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rpc_close(rig.ledger);
	rig.ledger = NULL;
	fake_run(rig.loop);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rig_answer_token(&rig);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_audit_unavailable);
	assert_int_equal(buf_len(&rig.arrived), 0);
	rig_tear_down(&rig);
}

static void leg_refuses_what_the_vault_refuses(void **state)
{
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rpc_refuse(rig.token, CONSTRAINT_credential_unavailable, "sealed");
	rig.token.rpc = NULL;
	fake_run(rig.loop);
	rig_answer_record(&rig);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_unavailable);
	assert_int_equal(buf_len(&rig.arrived), 0);
	rig_tear_down(&rig);
}

/* What only an edge that lies would send; each beside what passes. */
static const struct row rows[] = {
	{"an ordinary read", REQUEST("GET", "/api"), CONSTRAINT_none},
	{"a push in disguise",
	 REQUEST("POST", "/acme/widgets.git/git-receive-pack"),
	 CONSTRAINT_credential_unavailable},
	{"a push behind an escape",
	 REQUEST("POST", "/acme/widgets.git/git-receive%2dpack"),
	 CONSTRAINT_internal},
	{"a push behind a query",
	 REQUEST("POST", "/acme/widgets.git/git-receive-pack?a"),
	 CONSTRAINT_credential_unavailable},
	{"another repository's refs",
	 REQUEST("GET", "/acme/gadgets/info/refs?service=git-upload-pack"),
	 CONSTRAINT_credential_unavailable},
	{"the repository's refs",
	 REQUEST("GET", "/acme/widgets/info/refs?service=git-upload-pack"),
	 CONSTRAINT_none},
	{"another repository's pack",
	 REQUEST("POST", "/acme/gadgets/git-upload-pack"),
	 CONSTRAINT_credential_unavailable},
	{"a tunnel", REQUEST("CONNECT", "/api"), CONSTRAINT_internal},
	{"a second line", REQUEST("GET", "/api HTTP/1.1"), CONSTRAINT_internal},
	{"dots", REQUEST("GET", "/api/../api"), CONSTRAINT_internal},
};

static void leg_checks_every_request_against_its_own_scope(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig;

		set_up_leg(&rig);
		rig_message(&rig, LEG_REQUEST, &leg_request_schema,
			    &rows[i].request);
		if (rows[i].refused == CONSTRAINT_none)
			rig_grant(&rig);
		if (rig_refusal(&rig) != rows[i].refused ||
		    (buf_len(&rig.arrived) > 0) !=
			    (rows[i].refused == CONSTRAINT_none))
			fail_msg("%s: %s", rows[i].what,
				 constraint_name(rig_refusal(&rig)));
		rig_tear_down(&rig);
	}
}

static void leg_is_not_opened_out_of_scope(void **state)
{
	static const struct {
		const char *binding, *host;
		bool opens;
	} cases[] = {
		{"forge", "good.test", true},
		{"forge", "evil.test", false},
		{"forge", "GOOD.test", false},
		{"other", "good.test", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig rig;

		rig_set_up(&rig);
		rig_give_session(&rig, UINT64_MAX);
		rig_open_leg(&rig, cases[i].binding, cases[i].host);
		assert_int_equal(rig.leg >= 0, cases[i].opens);
		if (!cases[i].opens)
			assert_int_equal(rig.refused,
					 CONSTRAINT_credential_unavailable);
		rig_tear_down(&rig);
	}
}

static void leg_is_not_opened_for_an_expired_or_unknown_session(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig_open_leg(&rig, "forge", "good.test");
	assert_int_equal(rig.leg, -1);
	io_close(rig.upstream);
	rig_give_session(&rig, 1000);
	rig_open_leg(&rig, "forge", "good.test");
	assert_int_equal(rig.leg, -1);
	assert_int_equal(rig.refused, CONSTRAINT_credential_unavailable);
	rig_tear_down(&rig);
}

static void leg_refuses_a_request_after_the_session_expired(void **state)
{
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	/* The same session again, which has ended. */
	rig_give_session(&rig, 1000);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_unavailable);
	assert_int_equal(buf_len(&rig.arrived), 0);
	rig_tear_down(&rig);
}

static void leg_closes_with_its_session(void **state)
{
	const struct msg_session_ref ref = {
		.id = bytes_str("s-1"),
		.reason = bytes_str("revoked"),
	};
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rig_grant(&rig);
	rig_tell(&rig, MSG_SESSION_CLOSE, &msg_session_ref_schema, &ref, -1);
	assert_true(rig.is_upstream_over);
	assert_true(fake_is_ended(rig.leg));
	rig_tear_down(&rig);
}

static void leg_closes_while_it_waits_for_its_grant(void **state)
{
	const struct msg_session_ref ref = {
		.id = bytes_str("s-1"),
		.reason = bytes_str("revoked"),
	};
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rig_tell(&rig, MSG_SESSION_CLOSE, &msg_session_ref_schema, &ref, -1);
	rig_grant(&rig);
	assert_int_equal(buf_len(&rig.arrived), 0);
	assert_true(rig.is_upstream_over);
	rig_tear_down(&rig);
}

static void leg_closes_with_the_edge_that_opened_it_only(void **state)
{
	struct rpc *first;
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	first = rig.edge;
	rig.edge = rig_peer(&rig, ROLE_EDGE, NULL);
	rpc_close(first);
	fake_run(rig.loop);
	assert_true(rig.is_upstream_over);
	rig.is_upstream_over = false;
	io_close(rig.upstream);
	fake_run(rig.loop);
	rig_open_leg(&rig, "forge", "good.test");
	assert_true(rig.leg >= 0);
	first = rig_peer(&rig, ROLE_EDGE, NULL);
	rpc_close(first);
	fake_run(rig.loop);
	assert_false(rig.is_upstream_over);
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			leg_sends_a_request_with_the_token_and_no_other),
		cmocka_unit_test(
			leg_sends_nothing_before_the_record_is_on_disk),
		cmocka_unit_test(leg_sends_nothing_before_it_has_the_token),
		cmocka_unit_test(leg_refuses_what_the_ledger_did_not_keep),
		cmocka_unit_test(leg_refuses_when_the_ledger_is_away),
		cmocka_unit_test(leg_refuses_what_the_vault_refuses),
		cmocka_unit_test(
			leg_checks_every_request_against_its_own_scope),
		cmocka_unit_test(leg_is_not_opened_out_of_scope),
		cmocka_unit_test(
			leg_is_not_opened_for_an_expired_or_unknown_session),
		cmocka_unit_test(
			leg_refuses_a_request_after_the_session_expired),
		cmocka_unit_test(leg_closes_with_its_session),
		cmocka_unit_test(leg_closes_while_it_waits_for_its_grant),
		cmocka_unit_test(leg_closes_with_the_edge_that_opened_it_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
