#include "gateway/courier/commit_sign.h"
#include "tests/unit/gateway/courier/rig_leg.h"

#define KEY "ssh-ed25519 AAAA"

struct outcome {
	unsigned count;
	uint16_t code; /* of a refusal */
	char blob[SIGN_BLOB_MAX + 1];
};

static void on_outcome(struct rpc_outcome *from, void *owner)
{
	const struct msg_signed *made = from->message;
	struct outcome *outcome = owner;

	outcome->count++;
	if (from->refusal)
		outcome->code = from->refusal->code;
	if (made)
		(void)snprintf(outcome->blob, sizeof(outcome->blob), "%.*s",
			       BYTES_ARGS(made->blob));
}

static void ask(struct rig *rig, size_t digest_len, const char *tag,
		struct outcome *outcome)
{
	static const uint8_t digest[SIGN_DIGEST_LEN] = {0xab};
	const struct msg_sign message = {
		.digest = bytes_from(digest, digest_len),
		.request_id = bytes_str("r-1"),
		.tag = bytes_str(tag),
		.oid = bytes_str(OID_A),
	};
	const struct rpc_call call = {
		.type = MSG_SIGN,
		.schema = &msg_sign_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_signed_schema,
		.timeout_ms = 60000,
		.on_outcome = on_outcome,
		.owner = outcome,
	};
	struct err err;

	*outcome = (struct outcome){0};
	assert_int_equal(rpc_ask(rig->edge, &call, NULL, &err), 0);
	fake_run(rig->loop);
}

static void vault_signs(struct rig *rig)
{
	const struct msg_signed made = {
		.blob = bytes_str("signature"),
		.public_key = bytes_str(KEY),
	};

	assert_non_null(rig->token.rpc);
	assert_int_equal(rig->token.type, MSG_SIGN_MAKE);
	rpc_reply(rig->token, &msg_signed_schema, &made, -1);
	rig->token.rpc = NULL;
	fake_run(rig->loop);
}

static void it_is_on_record(struct rig *rig)
{
	const struct wire_empty empty = {0};

	rpc_reply(rig->record, &wire_empty_schema, &empty, -1);
	rig->record.rpc = NULL;
	fake_run(rig->loop);
}

static void a_signature_is_on_record_before_it_is_given(void **state)
{
	static const struct {
		const char *tag, *recorded;
	} rows[] = {
		{"", "secret.use s-1 git:0 SIGN commit session"},
		{"v1", "secret.use s-1 git:0 SIGN refs/tags/v1 session"},
	};
	struct outcome outcome;
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig_give_session(&rig, UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ask(&rig, SIGN_DIGEST_LEN, rows[i].tag, &outcome);
		assert_null(rig.record.rpc);
		vault_signs(&rig);
		assert_string_equal(rig.recorded, rows[i].recorded);
		assert_int_equal(outcome.count, 0);
		it_is_on_record(&rig);
		assert_int_equal(outcome.count, 1);
		assert_string_equal(outcome.blob, "signature");
	}
	rig_tear_down(&rig);
}

static void what_cannot_be_recorded_is_not_given(void **state)
{
	struct outcome outcome;
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig_give_session(&rig, UINT64_MAX);
	ask(&rig, SIGN_DIGEST_LEN, "", &outcome);
	vault_signs(&rig);
	rig_drop(&rig.record);
	fake_run(rig.loop);
	assert_int_equal(outcome.count, 1);
	assert_int_equal(outcome.code, CONSTRAINT_audit_unavailable);
	assert_string_equal(outcome.blob, "");
	rig_tear_down(&rig);
}

static void what_the_vault_refuses_is_refused_for_the_same(void **state)
{
	struct outcome outcome;
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig_give_session(&rig, UINT64_MAX);
	ask(&rig, SIGN_DIGEST_LEN, "", &outcome);
	rpc_refuse(rig.token, CONSTRAINT_sign_not_allowed, "no");
	rig.token.rpc = NULL;
	fake_run(rig.loop);
	assert_int_equal(outcome.code, CONSTRAINT_sign_not_allowed);
	assert_null(rig.record.rpc);
	/* Nor is a digest of another length ever shown to it. */
	ask(&rig, SIGN_DIGEST_LEN - 1, "", &outcome);
	assert_int_equal(outcome.code, CONSTRAINT_request_malformed);
	assert_null(rig.token.rpc);
	rig_tear_down(&rig);
}

static void an_edge_asks_for_so_many_a_second(void **state)
{
	struct outcome outcome;
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig_give_session(&rig, UINT64_MAX);
	for (int i = 0; i < SIGNED_PER_SECOND; i++) {
		ask(&rig, 0, "", &outcome);
		assert_int_equal(outcome.code, CONSTRAINT_request_malformed);
	}
	ask(&rig, 0, "", &outcome);
	assert_int_equal(outcome.code, CONSTRAINT_limit_rate);
	fake_advance(rig.loop, 1000);
	ask(&rig, 0, "", &outcome);
	assert_int_equal(outcome.code, CONSTRAINT_request_malformed);
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_is_on_record_before_it_is_given),
		cmocka_unit_test(what_cannot_be_recorded_is_not_given),
		cmocka_unit_test(
			what_the_vault_refuses_is_refused_for_the_same),
		cmocka_unit_test(an_edge_asks_for_so_many_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
