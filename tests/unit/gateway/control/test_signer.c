#include "tests/unit/gateway/control/rig.h"

#define H      "Host: localhost\r\n"
#define KEY    "ssh-ed25519 AAAA"
#define SIGNED "\"signing\":{\"name\":\"A B\",\"email\":\"a@b\","
#define REPO   "git: [{repo: 'https://a.example/o/r', push: {branches: [x]"
#define POLICY(sign)                                                           \
	"{\"policy\":\"version: 1\\nname: small\\n" REPO sign "}}]\\n\"}"

static const char show[] = "GET /v1/sessions/" RIG_ID " HTTP/1.1\r\n" H "\r\n";

static const char *create(struct rig *rig, const char *body)
{
	char request[4096];

	(void)snprintf(request, sizeof(request),
		       "POST /v1/sessions HTTP/1.1\r\n" H
		       "Content-Length: %zu\r\n\r\n%s",
		       strlen(body), body);
	return rig_ask(rig, request);
}

static void a_session_is_told_with_who_signs_for_it(void **state)
{
	static const struct {
		bool signs;
		const char *key, *told;
	} rows[] = {
		{true, KEY, SIGNED "\"public_key\":\"" KEY "\",\"why\":null}"},
		{true, NULL,
		 SIGNED "\"public_key\":null,\"why\":\"no such secret\"}"},
		{false, KEY, "\"signing\":null"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *answer;
		struct rig rig;

		rig_init(&rig, 1000, false);
		rig.signs = rows[i].signs;
		rig.signer_key = rows[i].key;
		answer = create(&rig, rows[i].signs ? POLICY(", sign: session")
						    : POLICY(""));
		assert_status(answer, 201);
		assert_contains(answer, rows[i].told);
		answer = rig_ask(&rig, show);
		assert_status(answer, 200);
		assert_contains(answer, rows[i].told);
		rig_release(&rig);
	}
}

/* Nobody was told of it: it must not live on. */
static void a_session_without_its_signer_is_ended_again(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.refuse_signer = CONSTRAINT_internal;
	assert_status(create(&rig, POLICY(", sign: session")), 500);
	rig_turns(&rig);
	assert_int_equal(rig.creations, 1);
	assert_int_equal(rig.revocations, 1);
	rig_release(&rig);
	/* One that is there already stays. */
	rig_init(&rig, 1000, false);
	rig.refuse_signer = CONSTRAINT_internal;
	rig.signs = true;
	assert_status(rig_ask(&rig, show), 500);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 0);
	rig_release(&rig);
}

/* Nor when whoever asked for it is gone by then. */
static void a_session_that_was_left_without_its_signer_is_ended(void **state)
{
	static const char body[] = POLICY(", sign: session");
	char request[4096];
	struct rig rig;
	struct err err;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.is_silent = true;
	(void)snprintf(request, sizeof(request),
		       "POST /v1/sessions HTTP/1.1\r\n" H
		       "Content-Length: %zu\r\n\r\n%s",
		       strlen(body), body);
	rig_send(rig.client, request);
	for (int i = 0; i < 1000 && !rig.held.rpc; i++)
		assert_int_equal(io_loop_turn(rig.loop, 10, &err), 0);
	assert_non_null(rig.held.rpc);
	http_server_close(&rig.control.server);
	rpc_refuse(rig.held, CONSTRAINT_internal, "refused by the rig");
	rig_turns(&rig);
	assert_int_equal(rig.creations, 1);
	assert_int_equal(rig.revocations, 1);
	rig_release(&rig);
}

/* Whoever asks hears of no answer, and what was asked for may be done yet. */
static void what_is_late_is_undone(void **state)
{
	const struct msg_session_ref ref = {.id = bytes_str(RIG_ID)};
	struct question question = {
		.role = ROLE_VAULT,
		.type = MSG_SIGNER_GET,
		.schema = &msg_session_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &msg_signer_schema,
		.timeout_ms = 5,
		.undo = ref.id,
	};
	struct rig rig;
	struct err err;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.is_silent = true;
	assert_non_null(ask_send(&rig.control, &question, &err));
	for (int i = 0; i < 1000 && !rig.revocations; i++)
		assert_int_equal(io_loop_turn(rig.loop, 10, &err), 0);
	assert_int_equal(rig.revocations, 1);
	rpc_refuse(rig.held, CONSTRAINT_internal, "too late");
	/* In time it stays. */
	rig.is_silent = false;
	question.timeout_ms = 0;
	assert_non_null(ask_send(&rig.control, &question, &err));
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 1);
	rig_release(&rig);
}

static void only_administrators_have_a_key_of_the_vault_sign(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	assert_status(create(&rig, POLICY(", sign: {key: k}")), 403);
	assert_int_equal(rig.creations, 0);
	rig_release(&rig);
	rig_init(&rig, 0, true);
	rig.signer_key = KEY;
	assert_status(create(&rig, POLICY(", sign: {key: k}")), 201);
	assert_true(bytes_is(rig.package->session.scope.sign_secret, "k"));
	assert_true(rig.package->session.scope.signs);
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_told_with_who_signs_for_it),
		cmocka_unit_test(a_session_without_its_signer_is_ended_again),
		cmocka_unit_test(
			a_session_that_was_left_without_its_signer_is_ended),
		cmocka_unit_test(what_is_late_is_undone),
		cmocka_unit_test(
			only_administrators_have_a_key_of_the_vault_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
