#include "gateway/vault/signing.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/vault/ssh_key.h"
#include "gateway/vault/supply.h"

/* ---- the keys of sessions ---- */

static int record_key(struct vault *vault, const struct session *session,
		      const struct ssh_key *key)
{
	char text[SIGN_KEY_MAX + 1];
	struct record record = {
		.kind = RECORD_SECRET_CHANGED,
		.allowed = true,
		.session = bytes_str(session->id),
		.host = bytes_str("session"),
		.method = bytes_str("make"),
	};

	ssh_key_write(key, text);
	record.detail = bytes_str(text);
	return keeper_record(vault->keeper, &record);
}

void signing_open(struct vault *vault, struct session *session)
{
	const struct scope *scope = session_scope(session);
	struct ssh_key *key;
	struct err err = {.text = "it cannot be put on record"};

	if (!scope->signs || scope->sign_secret.len > 0 || session->owner)
		return;
	key = calloc(1, sizeof(*key));
	if (key && ssh_key_make(key, &err) == 0 &&
	    record_key(vault, session, key) == 0) {
		session->owner = key;
		return;
	}
	log_error("no key for session %s: %s", session->id, err.text);
	if (key)
		ssh_key_release(key);
	free(key);
}

void signing_close(struct session *session)
{
	struct ssh_key *key = session->owner;

	if (!key)
		return;
	session->owner = NULL;
	ssh_key_release(key);
	free(key);
}

void signing_release(struct vault *vault)
{
	struct session *session =
		vault->keeper ? vault->keeper->sessions.head : NULL;

	for (; session; session = session->hh.next)
		signing_close(session);
}

int signing_check(const struct vault *vault, struct bytes name,
		  struct bytes value, struct err *err)
{
	const struct session *session;
	struct ssh_key key;

	for (session = vault->keeper->sessions.head; session;
	     session = session->hh.next) {
		const struct scope *scope = session_scope(session);

		if (!scope->signs || !bytes_equal(scope->sign_secret, name))
			continue;
		if (ssh_key_read(&key, value, err) < 0) {
			(void)err_prefix(err, "a session signs with it");
			return -1;
		}
		ssh_key_release(&key);
		return 0;
	}
	return 0;
}

/* ---- who asks for what ---- */

/* Waits for its key; the session is looked for again once that is there. */
struct asking {
	struct rpc_ticket ticket;
	struct vault *vault;
	char session[SESSION_ID_MAX + 1];
	uint8_t digest[SIGN_DIGEST_LEN];
	bool is_signer; /* asks who signs; else for a signature */
};

static struct bytes key_of(const struct ssh_key *key,
			   char text[SIGN_KEY_MAX + 1])
{
	ssh_key_write(key, text);
	return bytes_str(text);
}

static void answer_signer(const struct asking *asking,
			  const struct scope *scope, const struct ssh_key *key,
			  const char *why)
{
	char text[SIGN_KEY_MAX + 1];
	const struct msg_signer signer = {
		.is_on = true,
		.name = scope->sign_name,
		.email = scope->sign_email,
		.public_key = key ? key_of(key, text) : bytes_str(""),
		.why = bytes_str(key ? "" : why),
	};

	rpc_reply(asking->ticket, &msg_signer_schema, &signer, -1);
}

static void answer_signed(const struct asking *asking,
			  const struct ssh_key *key, const char *why)
{
	auto_type(buf_release) struct buf blob;
	char text[SIGN_KEY_MAX + 1];
	struct msg_signed made;
	struct err err;

	buf_init(&blob, SIGN_BLOB_MAX);
	if (!key) {
		rpc_refuse(asking->ticket, CONSTRAINT_credential_unavailable,
			   "%s", why);
	} else if (ssh_key_sign(key, asking->digest, &blob, &err) < 0) {
		rpc_refuse(asking->ticket, CONSTRAINT_internal, "%s", err.text);
	} else {
		made.blob = buf_view(&blob);
		made.public_key = key_of(key, text);
		rpc_reply(asking->ticket, &msg_signed_schema, &made, -1);
	}
}

/* The session's scope, if something may be signed for it now; else NULL, and
 * *constraint. */
static const struct scope *scope_of(const struct vault *vault,
				    struct bytes session,
				    enum constraint *constraint)
{
	const struct session *found =
		session_find(&vault->keeper->sessions, session);

	*constraint = CONSTRAINT_session_revoked;
	if (!found)
		return NULL;
	*constraint = CONSTRAINT_lease_expired;
	if (session_is_expired(found, clock_wall_ms()))
		return NULL;
	*constraint = CONSTRAINT_sign_not_allowed;
	return session_scope(found)->signs ? session_scope(found) : NULL;
}

/* key NULL: it is not to be had, and why. */
static void answer(const struct asking *asking, const struct ssh_key *key,
		   const char *why)
{
	enum constraint constraint;
	const struct scope *scope = scope_of(
		asking->vault, bytes_str(asking->session), &constraint);
	const struct msg_signer nobody = {0};

	if (!scope && asking->is_signer)
		rpc_reply(asking->ticket, &msg_signer_schema, &nobody, -1);
	else if (!scope)
		rpc_refuse(asking->ticket, (uint16_t)constraint, "%s",
			   constraint_text(constraint));
	else if (asking->is_signer)
		answer_signer(asking, scope, key, why);
	else
		answer_signed(asking, key, why);
}

static void on_value(const struct secret *value, const struct err *err,
		     void *owner)
{
	auto_free struct asking *asking = owner;
	struct ssh_key key;
	struct err unfit;

	if (!value) {
		answer(asking, NULL, err->text);
	} else if (ssh_key_read(&key, secret_view(value), &unfit) < 0) {
		(void)err_prefix(&unfit, "the secret cannot sign");
		answer(asking, NULL, unfit.text);
	} else {
		answer(asking, &key, NULL);
		ssh_key_release(&key);
	}
}

/* ---- the secret that a policy names ---- */

static bool is_token(const struct gateway_config *config, struct bytes name)
{
	const struct config_source *source =
		gateway_config_source(config, name);

	return source && source_is_bought(source);
}

static void ask_value(const struct asking *from, struct bytes name)
{
	struct vault *vault = from->vault;
	const struct supply_wanted wanted = {.name = name};
	struct asking *asking = calloc(1, sizeof(*asking));

	if (!asking || is_token(&vault->keeper->config, name)) {
		answer(from, NULL,
		       asking ? "a token that is bought cannot sign"
			      : "memory is out");
		free(asking);
		return;
	}
	*asking = *from;
	rpc_ticket_hold(asking->ticket);
	supply_get(vault, &wanted, on_value, asking);
}

static void ask(struct asking *asking, struct bytes session)
{
	struct vault *vault = asking->vault;
	enum constraint constraint;
	const struct scope *scope = scope_of(vault, session, &constraint);
	const struct session *found =
		session_find(&vault->keeper->sessions, session);

	if (session.len < sizeof(asking->session))
		memcpy(asking->session, session.data, session.len);
	if (scope && scope->sign_secret.len > 0)
		ask_value(asking, scope->sign_secret);
	else
		answer(asking, found ? found->owner : NULL,
		       "its key could not be made");
}

void signing_answer_make(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct msg_sign_make *wanted = message;
	const struct keeper_peer *peer = owner;
	struct asking asking = {.ticket = ticket, .vault = peer->keeper->owner};

	(void)fd;
	if (wanted->digest.len != SIGN_DIGEST_LEN) {
		rpc_refuse(ticket, CONSTRAINT_request_malformed,
			   "this is no SHA-512");
		return;
	}
	memcpy(asking.digest, wanted->digest.data, SIGN_DIGEST_LEN);
	ask(&asking, wanted->session);
}

void signing_answer_signer(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct msg_session_ref *wanted = message;
	const struct keeper_peer *peer = owner;
	struct asking asking = {
		.ticket = ticket,
		.vault = peer->keeper->owner,
		.is_signer = true,
	};

	(void)fd;
	ask(&asking, wanted->id);
}
