/*
 * Who may have what signed, over the fake io: the test plays courier and
 * control.
 */
#include "tests/unit/gateway/vault/fixture.h"

#include "common/io_fake.h"
#include "gateway/keeper/records.h"
#include "gateway/vault/signing.h"
#include "gateway/vault/ssh_key.h"
#include "gateway/vault/supply.h"

struct rig {
	struct fixture *fixture;
	struct keeper keeper;
	struct keeper_spec spec;
	struct vault vault;
	struct keeper_peer peer;
	struct rpc *served[2], *courier, *control;
	/* what came out */
	unsigned answers;
	uint16_t code;
	char public_key[SIGN_KEY_MAX + 1];
	char why[ERR_TEXT_MAX];
	size_t blob_len;
	bool is_on;
};

static struct rpc *channel(struct rig *rig, const struct rpc_permit *permits,
			   size_t count, struct rpc **served)
{
	const struct rpc_config none = {.owner = rig};
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = count,
		.owner = &rig->peer,
	};
	struct err err;
	int fds[2];

	assert_int_equal(io_message_pair(fds, &err), 0);
	*served = rpc_new(rig->keeper.loop, fds[0], &config, &err);
	return rpc_new(rig->keeper.loop, fds[1], &none, &err);
}

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct seal_source source;
	struct err err;
	void *fixture;

	assert_int_equal(fixture_setup(&fixture), 0);
	rig->fixture = fixture;
	source = source_of(rig->fixture);
	rig->keeper.loop = io_loop_new(&err);
	rig->keeper.spec = &rig->spec;
	rig->keeper.owner = &rig->vault;
	rig->vault.keeper = &rig->keeper;
	rig->peer.keeper = &rig->keeper;
	assert_int_equal(vault_store_open(&rig->vault.store, &source, &err), 0);
	rig->courier = channel(rig, vault_courier_permits,
			       vault_courier_permit_count, &rig->served[0]);
	rig->control = channel(rig, vault_control_permits,
			       vault_control_permit_count, &rig->served[1]);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	void *fixture = rig->fixture;

	rpc_close(rig->courier);
	rpc_close(rig->control);
	rpc_close(rig->served[0]);
	rpc_close(rig->served[1]);
	fake_run(rig->keeper.loop);
	signing_release(&rig->vault);
	session_table_release(&rig->keeper.sessions);
	supply_release(&rig->vault);
	former_release(&rig->vault.former);
	vault_store_close(&rig->vault.store);
	keeper_records_release(&rig->keeper);
	io_loop_free(rig->keeper.loop);
	fake_reset_all();
	free(rig);
	return fixture_teardown(&fixture);
}

/* secret NULL: it signs nothing. */
static struct session *add_session(struct rig *rig, const char *id,
				   const char *secret, uint64_t expires_ms)
{
	const uint8_t lease[DIGEST_LEN] = {0};
	const struct session_package package = {
		.id = bytes_str(id),
		.expires_ms = expires_ms,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.signs = secret != NULL,
			  .sign_secret = bytes_str(secret),
			  .sign_name = bytes_str("A B"),
			  .sign_email = bytes_str("a@b")},
	};
	struct err err;
	auto_fd int fd = package_seal(&package, &err);
	struct package *opened = package_open(fd, &err);
	struct session *session;

	assert_non_null(opened);
	session = session_add(&rig->keeper.sessions, opened, &err);
	assert_non_null(session);
	signing_open(&rig->vault, session);
	return session;
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct rig *rig = owner;

	rig->answers++;
	rig->code = outcome->refusal ? outcome->refusal->code : 0;
	if (outcome->err)
		(void)snprintf(rig->why, sizeof(rig->why), "%s",
			       outcome->err->text);
}

static void on_signed(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_signed *made = outcome->message;
	struct rig *rig = owner;

	on_outcome(outcome, owner);
	rig->blob_len = made ? made->blob.len : 0;
	if (made)
		(void)snprintf(rig->public_key, sizeof(rig->public_key), "%.*s",
			       BYTES_ARGS(made->public_key));
}

static void on_signer(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_signer *signer = outcome->message;
	struct rig *rig = owner;

	on_outcome(outcome, owner);
	assert_non_null(signer);
	rig->is_on = signer->is_on;
	(void)snprintf(rig->public_key, sizeof(rig->public_key), "%.*s",
		       BYTES_ARGS(signer->public_key));
	(void)snprintf(rig->why, sizeof(rig->why), "%.*s",
		       BYTES_ARGS(signer->why));
}

static void ask(struct rig *rig, struct rpc *rpc, const struct rpc_call *like)
{
	struct rpc_call call = *like;
	struct err err;

	rig->answers = 0;
	rig->why[0] = rig->public_key[0] = '\0';
	call.fd = -1;
	call.timeout_ms = 1000;
	call.owner = rig;
	assert_int_equal(rpc_ask(rpc, &call, NULL, &err), 0);
	fake_run(rig->keeper.loop);
	assert_int_equal(rig->answers, 1);
}

static void ask_sign(struct rig *rig, const char *session, size_t len)
{
	static const uint8_t digest[SIGN_DIGEST_LEN];
	const struct msg_sign_make message = {
		.session = bytes_str(session),
		.digest = bytes_from(digest, len),
	};

	ask(rig, rig->courier,
	    &(const struct rpc_call){
		    .type = MSG_SIGN_MAKE,
		    .schema = &msg_sign_make_schema,
		    .message = &message,
		    .reply_schema = &msg_signed_schema,
		    .on_outcome = on_signed,
	    });
}

static void ask_signer(struct rig *rig, const char *session)
{
	const struct msg_session_ref message = {.id = bytes_str(session)};

	ask(rig, rig->control,
	    &(const struct rpc_call){
		    .type = MSG_SIGNER_GET,
		    .schema = &msg_session_ref_schema,
		    .message = &message,
		    .reply_schema = &msg_signer_schema,
		    .on_outcome = on_signer,
	    });
}

static uint16_t put(struct rig *rig, const char *name, const char *value)
{
	const struct msg_secret message = {bytes_str(name), bytes_str(value)};

	ask(rig, rig->control,
	    &(const struct rpc_call){
		    .type = MSG_SECRET_PUT,
		    .schema = &msg_secret_schema,
		    .message = &message,
		    .reply_schema = &wire_empty_schema,
		    .on_outcome = on_outcome,
	    });
	return rig->code;
}

/* Of nobody: openssl genpkey. */
static const char pkcs8[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VwBCIEIOY/AWeSBmmsLj0XzvI+NY7QUsAW7JEfiAwMMSJdzVyq\n"
	"-----END PRIVATE KEY-----\n";

static void only_a_live_session_whose_scope_signs_has_a_signature(void **state)
{
	struct rig *rig = *state;
	char key[SIGN_KEY_MAX + 1];

	add_session(rig, "s-1", "", UINT64_MAX);
	add_session(rig, "s-2", NULL, UINT64_MAX);
	add_session(rig, "s-3", "", 1);
	ask_sign(rig, "s-1", SIGN_DIGEST_LEN);
	assert_int_equal(rig->code, 0);
	assert_true(rig->blob_len > 150);
	(void)snprintf(key, sizeof(key), "%s", rig->public_key);
	ask_signer(rig, "s-1");
	assert_true(rig->is_on);
	assert_string_equal(rig->public_key, key);
	ask_sign(rig, "s-1", SIGN_DIGEST_LEN - 1);
	assert_int_equal(rig->code, CONSTRAINT_request_malformed);
	ask_sign(rig, "s-2", SIGN_DIGEST_LEN);
	assert_int_equal(rig->code, CONSTRAINT_sign_not_allowed);
	ask_sign(rig, "s-3", SIGN_DIGEST_LEN);
	assert_int_equal(rig->code, CONSTRAINT_lease_expired);
	ask_sign(rig, "s-4", SIGN_DIGEST_LEN);
	assert_int_equal(rig->code, CONSTRAINT_session_revoked);
	ask_signer(rig, "s-2");
	assert_false(rig->is_on);
}

static void a_session_keeps_its_key_until_it_ends(void **state)
{
	struct rig *rig = *state;
	struct session *session = add_session(rig, "s-1", "", UINT64_MAX);
	const void *key = session->owner;

	assert_non_null(key);
	/* As when it is renewed. */
	signing_open(&rig->vault, session);
	assert_ptr_equal(session->owner, key);
	signing_close(session);
	assert_null(session->owner);
	ask_sign(rig, "s-1", SIGN_DIGEST_LEN);
	assert_int_equal(rig->code, CONSTRAINT_credential_unavailable);
}

static void a_key_of_the_vault_signs_if_it_is_fit(void **state)
{
	struct rig *rig = *state;

	/* Nobody signs with it yet: any value may stand there. */
	assert_int_equal(put(rig, "k", "no key"), 0);
	add_session(rig, "s-1", "k", UINT64_MAX);
	ask_sign(rig, "s-1", SIGN_DIGEST_LEN);
	assert_int_equal(rig->code, CONSTRAINT_credential_unavailable);
	assert_non_null(strstr(rig->why, "the secret cannot sign"));
	ask_signer(rig, "s-1");
	assert_string_equal(rig->public_key, "");
	assert_non_null(strstr(rig->why, "no private key"));
	assert_int_equal(put(rig, "k", "no key either"),
			 CONSTRAINT_request_malformed);
	assert_non_null(strstr(rig->why, "a session signs with it"));
	assert_int_equal(put(rig, "other", "no key either"), 0);
	assert_int_equal(put(rig, "k", pkcs8), 0);
	ask_sign(rig, "s-1", SIGN_DIGEST_LEN);
	assert_int_equal(rig->code, 0);
	assert_true(rig->blob_len > 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			only_a_live_session_whose_scope_signs_has_a_signature,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_session_keeps_its_key_until_it_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_key_of_the_vault_signs_if_it_is_fit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
