/*
 * WebSockets with a credential: one request, one answer, and what an edge
 * that was taken over could make of the connection behind them.
 */
#include "tests/unit/gateway/courier/rig_frames.h"

#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define SWITCHES                                                               \
	"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
#define SMUGGLED "GET /evil HTTP/1.1\r\nHost: good.test\r\n\r\n"

static const struct leg_upgrade chat = {
	.request_id = BYTES_LITERAL("r-1"),
	.rule = BYTES_LITERAL("rule"),
	.path = BYTES_LITERAL("/chat?q=secret"),
	.key = BYTES_LITERAL(KEY),
};

static void ask(struct rig *rig, const struct leg_upgrade *upgrade)
{
	rig_set_up(rig);
	rig_give_session(rig, UINT64_MAX);
	rig_open_leg(rig, "forge", "good.test");
	assert_true(rig->leg >= 0);
	rig_message(rig, LEG_UPGRADE, &leg_upgrade_schema, upgrade);
}

/* The handshake is with upstream. */
static void start_chat(struct rig *rig)
{
	ask(rig, &chat);
	rig_grant(rig);
	assert_true(buf_len(&rig->arrived) > 0);
	buf_clear(&rig->arrived);
}

/* It has become a WebSocket. */
static void start_raw(struct rig *rig)
{
	start_chat(rig);
	upstream_says(rig, SWITCHES);
	assert_frame(rig, LEG_DATA, SWITCHES);
}

static void assert_over(struct rig *rig)
{
	assert_true(fake_is_ended(rig->leg));
	assert_true(rig->is_upstream_over);
}

/* ---- the request ---- */

static void
upgrade_is_written_with_the_token_and_nothing_of_the_edges(void **state)
{
	static const struct leg_field fields[] = {
		{BYTES_LITERAL("Origin"), BYTES_LITERAL("https://good.test")},
		{BYTES_LITERAL("Connection"), BYTES_LITERAL("keep-alive")},
		{BYTES_LITERAL("Upgrade"), BYTES_LITERAL("h2c")},
		{BYTES_LITERAL("sec-websocket-extensions"),
		 BYTES_LITERAL("permessage-deflate")},
		{BYTES_LITERAL("Sec_WebSocket_Extensions"),
		 BYTES_LITERAL("permessage-deflate")},
		{BYTES_LITERAL("Sec-WebSocket-Version"), BYTES_LITERAL("8")},
		{BYTES_LITERAL("Sec-WebSocket-Key"), BYTES_LITERAL("mine")},
		{BYTES_LITERAL("Sec-WebSocket-Protocol"), BYTES_LITERAL("x")},
		{BYTES_LITERAL("Accept-Encoding"), BYTES_LITERAL("gzip")},
		{BYTES_LITERAL("Authorization"), BYTES_LITERAL("Bearer mine")},
		{BYTES_LITERAL("Content-Length"), BYTES_LITERAL("40")},
		{BYTES_LITERAL("Transfer-Encoding"), BYTES_LITERAL("chunked")},
	};
	struct leg_upgrade upgrade = chat;
	struct rig rig;

	(void)state;
	upgrade.fields = fields;
	upgrade.fields_count = ARRAY_SIZE(fields);
	upgrade.protocols = bytes_str("first, second");
	ask(&rig, &upgrade);
	rig_grant(&rig);
	assert_arrived(&rig, "GET /chat?q=secret HTTP/1.1\r\n"
			     "Host: good.test\r\n"
			     "Origin: https://good.test\r\n"
			     "Authorization: Bearer " RIG_TOKEN "\r\n"
			     "Accept-Encoding: identity\r\n"
			     "Connection: Upgrade\r\n"
			     "Upgrade: websocket\r\n"
			     "Sec-WebSocket-Version: 13\r\n"
			     "Sec-WebSocket-Key: " KEY "\r\n"
			     "Sec-WebSocket-Protocol: first, second\r\n"
			     "\r\n");
	assert_string_equal(rig.recorded,
			    "secret.use s-1 good.test:443 GET /chat forge");
	rig_tear_down(&rig);
}

static void upgrade_waits_for_the_token_and_the_record(void **state)
{
	struct rig rig;

	(void)state;
	ask(&rig, &chat);
	rig_answer_token(&rig);
	assert_arrived(&rig, "");
	rig_answer_record(&rig);
	assert_true(buf_len(&rig.arrived) > 0);
	rig_tear_down(&rig);
	ask(&rig, &chat);
	rig_answer_record(&rig);
	assert_arrived(&rig, "");
	rig_answer_token(&rig);
	assert_true(buf_len(&rig.arrived) > 0);
	rig_tear_down(&rig);
}

static void upgrade_is_not_sent_when_the_record_is_not_kept(void **state)
{
	struct rig rig;

	(void)state;
	ask(&rig, &chat);
	rig_answer_token(&rig);
	rpc_refuse(rig.record, CONSTRAINT_audit_unavailable, "full");
	rig.record.rpc = NULL;
	fake_run(rig.loop);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_audit_unavailable);
	assert_arrived(&rig, "");
	rig_tear_down(&rig);
}

#define ASKS(path_, key_, protocols_)                                          \
	{.path = BYTES_LITERAL(path_),                                         \
	 .key = BYTES_LITERAL(key_),                                           \
	 .protocols = BYTES_LITERAL(protocols_)}
#define INVALID CONSTRAINT_internal

/* What only an edge that lies would send, beside what passes. */
static const struct {
	const char *what;
	struct leg_upgrade upgrade;
	enum constraint refused;
} rows[] = {
	{"one protocol", ASKS("/chat", KEY, "chat"), CONSTRAINT_none},
	{"two protocols", ASKS("/chat", KEY, "a, b"), CONSTRAINT_none},
	{"no key", ASKS("/chat", "", ""), INVALID},
	{"a short key", ASKS("/chat", "dGhlIHNhbXBsZQ==", ""), INVALID},
	{"no base64", ASKS("/chat", "dGhlIHNhbXBsZSBub25j!!==", ""), INVALID},
	{"an empty protocol", ASKS("/chat", KEY, "a, , b"), INVALID},
	{"a protocol of two words", ASKS("/chat", KEY, "a b"), INVALID},
	{"a line behind the protocols", ASKS("/chat", KEY, "a,\nX-Evil:yes, b"),
	 INVALID},
	{"a line end behind a protocol", ASKS("/chat", KEY, "a, b\n"), INVALID},
	{"a credential among the protocols",
	 ASKS("/chat", KEY, "v4, Base64URL.bearer.authorization.k8s.io.eA"),
	 INVALID},
	{"dots", ASKS("/a/../chat", KEY, ""), INVALID},
	{"a second line", ASKS("/chat HTTP/1.1", KEY, ""), INVALID},
	{"a push", ASKS("/acme/widgets.git/git-receive-pack", KEY, ""),
	 CONSTRAINT_credential_unavailable},
	{"another repository",
	 ASKS("/acme/gadgets/info/refs?service=git-upload-pack", KEY, ""),
	 CONSTRAINT_credential_unavailable},
};

static void upgrade_is_checked_as_every_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool passes = rows[i].refused == CONSTRAINT_none;
		struct rig rig;

		ask(&rig, &rows[i].upgrade);
		if (passes)
			rig_grant(&rig);
		if (rig_refusal(&rig) != rows[i].refused ||
		    (buf_len(&rig.arrived) > 0) != passes)
			fail_msg("%s: %s", rows[i].what,
				 constraint_name(rig_refusal(&rig)));
		rig_tear_down(&rig);
	}
}

/* ---- raw, and nothing else ---- */

static void leg_is_raw_behind_the_101(void **state)
{
	struct rig rig;

	(void)state;
	start_raw(&rig);
	rig_frame(&rig, LEG_BODY, "\x81\x82mask");
	rig_frame(&rig, LEG_BODY, "");
	rig_frame(&rig, LEG_BODY, SMUGGLED);
	assert_arrived(&rig, "\x81\x82mask" SMUGGLED);
	upstream_says(&rig, "\x81\x05hello");
	assert_frame(&rig, LEG_DATA, "\x81\x05hello");
	io_end(rig.upstream);
	fake_run(rig.loop);
	assert_frame(&rig, LEG_EOF, "");
	assert_true(fake_is_ended(rig.leg));
	rig_tear_down(&rig);
}

static void leg_is_raw_also_when_the_101_comes_byte_by_byte(void **state)
{
	static const char *const heads[] = {SWITCHES, "HTTP/1.1 101\r\n\r\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		char byte[2] = "";
		struct rig rig;

		start_chat(&rig);
		for (const char *at = heads[i]; *at; at++) {
			byte[0] = *at;
			upstream_says(&rig, byte);
		}
		rig_frame(&rig, LEG_BODY, "raw");
		assert_arrived(&rig, "raw");
		rig_tear_down(&rig);
	}
}

static void leg_sends_nothing_raw_before_upstream_answered(void **state)
{
	static const char *const said[] = {"", "HTTP/1.1 1", "HTTP/1.1 101"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		struct rig rig;

		start_chat(&rig);
		upstream_says(&rig, said[i]);
		rig_frame(&rig, LEG_BODY, SMUGGLED);
		assert_arrived(&rig, "");
		assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
		assert_over(&rig);
		rig_tear_down(&rig);
	}
}

/* None of these is a 101 that comes first. */
static const char *const answers[] = {
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
	"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 1010 ?\r\n\r\n",
	"HTTP/1.0 101 Switching Protocols\r\n\r\n",
	"HTTP/1.1  101 Switching Protocols\r\n\r\n",
	"\r\nHTTP/1.1 101 Switching Protocols\r\n\r\n",
	"HTTP/1.1 103 Early Hints\r\n\r\n" SWITCHES,
	"HTTP/1.1 100 Continue\r\n\r\n" SWITCHES,
};

static void leg_passes_another_answer_and_sends_nothing_any_more(void **state)
{
	static const enum leg_kind kinds[] = {LEG_BODY, LEG_END, LEG_DONE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers) * ARRAY_SIZE(kinds); i++) {
		const char *answer = answers[i / ARRAY_SIZE(kinds)];
		enum leg_kind kind = kinds[i % ARRAY_SIZE(kinds)];
		struct rig rig;

		start_chat(&rig);
		upstream_says(&rig, answer);
		assert_frame(&rig, LEG_DATA, answer);
		rig_frame(&rig, kind, kind == LEG_BODY ? SMUGGLED : "");
		assert_arrived(&rig, "");
		assert_over(&rig);
		rig_tear_down(&rig);
	}
}

/* A lying edge asks again on the same connection: after each stage. */
static void ask_again(struct rig *rig, enum leg_kind kind)
{
	const struct leg_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/api"),
	};

	if (kind == LEG_UPGRADE)
		rig_message(rig, kind, &leg_upgrade_schema, &chat);
	else if (kind == LEG_REQUEST)
		rig_message(rig, kind, &leg_request_schema, &request);
	else
		rig_frame(rig, kind, "");
}

static void leg_gets_no_second_request_and_no_second_grant(void **state)
{
	static const char *const said[] = {"", SWITCHES, "HTTP/1.1 200 OK\r\n"};
	static const enum leg_kind kinds[] = {
		LEG_REQUEST, LEG_UPGRADE, LEG_PUSH, LEG_END,
		LEG_DONE,    LEG_DATA,	  LEG_EOF,  LEG_REFUSED};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said) * ARRAY_SIZE(kinds); i++) {
		struct rig rig;

		start_chat(&rig);
		upstream_says(&rig, said[i % ARRAY_SIZE(said)]);
		ask_again(&rig, kinds[i / ARRAY_SIZE(said)]);
		assert_null(rig.token.rpc);
		assert_null(rig.record.rpc);
		assert_arrived(&rig, "");
		assert_over(&rig);
		rig_tear_down(&rig);
	}
}

/* ---- what comes back ---- */

static void leg_watches_for_its_token_to_the_end(void **state)
{
	char text[64];
	struct rig rig;

	(void)state;
	start_raw(&rig);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "\x81\x08messag.%d", i % 10);
		upstream_says(&rig, text);
		assert_frame(&rig, LEG_DATA, text);
		rig_frame(&rig, LEG_BODY, "x");
	}
	fake_advance(rig.loop, LEG_IDLE_MS);
	upstream_says(&rig, "\x81\x12" RIG_TOKEN);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	assert_over(&rig);
	assert_string_equal(rig.told, "secret.reflected credential_reflected");
	rig_tear_down(&rig);
}

static void leg_finds_its_token_in_pieces_and_in_the_answer(void **state)
{
	struct rig rig;

	(void)state;
	start_raw(&rig);
	upstream_says(&rig, "\x81\x12ghs_the-r");
	upstream_says(&rig, "eal-token");
	/* Less than a beginning of it has passed. */
	assert_frame(&rig, LEG_DATA, "\x81\x12");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	assert_over(&rig);
	rig_tear_down(&rig);
	start_chat(&rig);
	upstream_says(&rig, "HTTP/1.1 403 no\r\n\r\n" RIG_TOKEN);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	assert_over(&rig);
	rig_tear_down(&rig);
}

/* ---- the end ---- */

static void leg_that_is_raw_ends_with_its_session(void **state)
{
	const struct msg_session_ref ref = {
		.id = bytes_str("s-1"),
		.reason = bytes_str("revoked"),
	};
	struct rig rig;

	(void)state;
	start_raw(&rig);
	rig_tell(&rig, MSG_SESSION_CLOSE, &msg_session_ref_schema, &ref, -1);
	assert_over(&rig);
	rig_frame(&rig, LEG_BODY, "late");
	assert_arrived(&rig, "");
	rig_tear_down(&rig);
}

static void leg_that_is_raw_ends_with_its_edge(void **state)
{
	struct rig rig;

	(void)state;
	start_raw(&rig);
	rpc_close(rig.edge);
	rig.edge = NULL;
	fake_run(rig.loop);
	assert_over(&rig);
	rig_tear_down(&rig);
	start_raw(&rig);
	(void)close(rig.leg);
	rig.leg = -1;
	fake_run(rig.loop);
	assert_true(rig.is_upstream_over);
	rig_tear_down(&rig);
}

static void leg_that_is_raw_ends_after_silence(void **state)
{
	struct rig rig;

	(void)state;
	start_raw(&rig);
	fake_advance(rig.loop, LEG_RAW_IDLE_MS - 1000);
	rig_frame(&rig, LEG_BODY, "x");
	fake_advance(rig.loop, LEG_RAW_IDLE_MS - 1000);
	upstream_says(&rig, "y");
	fake_advance(rig.loop, LEG_RAW_IDLE_MS - 1000);
	assert_false(rig.is_upstream_over);
	fake_advance(rig.loop, 2000);
	assert_over(&rig);
	rig_tear_down(&rig);
}

static void leg_that_is_raw_ends_after_its_time_whatever_moves(void **state)
{
	uint64_t passed = 0;
	struct rig rig;

	(void)state;
	start_raw(&rig);
	while (!rig.is_upstream_over && passed < 2 * LEG_RAW_TOTAL_MS) {
		rig_frame(&rig, LEG_BODY, "x");
		upstream_says(&rig, "y");
		fake_advance(rig.loop, 60000);
		passed += 60000;
	}
	assert_in_range(passed, LEG_RAW_TOTAL_MS - 60000,
			LEG_RAW_TOTAL_MS + 60000);
	assert_over(&rig);
	rig_tear_down(&rig);
}

static void leg_that_is_not_answered_ends(void **state)
{
	struct rig rig;

	(void)state;
	start_chat(&rig);
	fake_advance(rig.loop, LEG_RESPONSE_MS + 1000);
	assert_over(&rig);
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			upgrade_is_written_with_the_token_and_nothing_of_the_edges),
		cmocka_unit_test(upgrade_waits_for_the_token_and_the_record),
		cmocka_unit_test(
			upgrade_is_not_sent_when_the_record_is_not_kept),
		cmocka_unit_test(upgrade_is_checked_as_every_request),
		cmocka_unit_test(leg_is_raw_behind_the_101),
		cmocka_unit_test(
			leg_is_raw_also_when_the_101_comes_byte_by_byte),
		cmocka_unit_test(
			leg_sends_nothing_raw_before_upstream_answered),
		cmocka_unit_test(
			leg_passes_another_answer_and_sends_nothing_any_more),
		cmocka_unit_test(
			leg_gets_no_second_request_and_no_second_grant),
		cmocka_unit_test(leg_watches_for_its_token_to_the_end),
		cmocka_unit_test(
			leg_finds_its_token_in_pieces_and_in_the_answer),
		cmocka_unit_test(leg_that_is_raw_ends_with_its_session),
		cmocka_unit_test(leg_that_is_raw_ends_with_its_edge),
		cmocka_unit_test(leg_that_is_raw_ends_after_silence),
		cmocka_unit_test(
			leg_that_is_raw_ends_after_its_time_whatever_moves),
		cmocka_unit_test(leg_that_is_not_answered_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
