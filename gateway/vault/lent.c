#include "gateway/vault/lent.h"

#include "common/clock.h"
#include "common/log.h"

static int record(struct keeper *keeper, const struct msg_lent *lent,
		  const char *verb, const char *why)
{
	const struct record record = {
		.kind = RECORD_SECRET_CHANGED,
		.allowed = why == NULL,
		.constraint = why ? CONSTRAINT_internal : CONSTRAINT_none,
		.session = lent->session,
		.host = lent->name,
		.method = bytes_str(verb),
		.detail = bytes_str(why),
	};

	return keeper_record(keeper, &record);
}

/* What cannot be recorded does not happen: recorded first. */
static bool may_change(struct rpc_ticket ticket, struct keeper *keeper,
		       const struct msg_lent *lent, const char *verb)
{
	const struct session *session =
		session_find(&keeper->sessions, lent->session);

	if (!session || session_is_expired(session, clock_wall_ms())) {
		rpc_refuse(ticket, CONSTRAINT_session_revoked,
			   "there is no such session");
		return false;
	}
	if (!vault_name_is_valid(lent->name)) {
		rpc_refuse(ticket, CONSTRAINT_request_malformed,
			   "its name has 1 to %d of A-Z a-z 0-9 . _ -",
			   LENT_NAME_MAX);
		return false;
	}
	if (record(keeper, lent, verb, NULL) == 0)
		return true;
	rpc_refuse(ticket, CONSTRAINT_audit_unavailable, "%s",
		   constraint_text(CONSTRAINT_audit_unavailable));
	return false;
}

static void refuse_err(struct rpc_ticket ticket, const struct err *err)
{
	enum constraint constraint = CONSTRAINT_internal;

	if (err->code == ERR_TOO_LARGE)
		constraint = CONSTRAINT_resource_limit;
	else if (err->code == ERR_MISSING)
		constraint = CONSTRAINT_credential_unavailable;
	rpc_refuse(ticket, (uint16_t)constraint, "%s", err->text);
}

void lent_answer_put(struct rpc_ticket ticket, const void *message, int *fd,
		     void *owner)
{
	const struct msg_lent *lent = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct wire_empty empty = {0};
	struct err err;

	(void)fd;
	if (lent->value.len == 0) {
		rpc_refuse(ticket, CONSTRAINT_request_malformed,
			   "the secret is empty");
		return;
	}
	if (!may_change(ticket, vault->keeper, lent, "lend"))
		return;
	if (vault_store_lend(&vault->store, lent->session, lent->name,
			     lent->value, clock_wall_ms(), &err) == 0) {
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
		return;
	}
	(void)record(vault->keeper, lent, "lend", err.text);
	refuse_err(ticket, &err);
}

void lent_answer_remove(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct msg_lent *lent = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct wire_empty empty = {0};
	char text[LENT_KEY_MAX + 1];
	struct bytes key = lent_key(lent->session, lent->name, text);
	struct err err;

	(void)fd;
	/* No row says that what is not there may be taken back. */
	if (key.len && !vault_store_has(&vault->store, key)) {
		rpc_refuse(ticket, CONSTRAINT_credential_unavailable,
			   "the session was lent no %.*s",
			   BYTES_ARGS(lent->name));
		return;
	}
	if (!may_change(ticket, vault->keeper, lent, "take back"))
		return;
	if (vault_store_remove(&vault->store, key, &err) == 0) {
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
		return;
	}
	(void)record(vault->keeper, lent, "take back", err.text);
	refuse_err(ticket, &err);
}

void lent_session_end(struct vault *vault, const struct session *session)
{
	struct err err;

	if (vault_store_end_session(&vault->store, bytes_str(session->id),
				    &err) < 0)
		log_error("what was lent to session %s stays: %s", session->id,
			  err.text);
}

void lent_sweep(struct vault *vault)
{
	char id[SESSION_ID_MAX + 1] = "";
	struct err err;

	while (vault_store_next_session(&vault->store, bytes_str(id), id))
		if (!session_find(&vault->keeper->sessions, bytes_str(id)) &&
		    vault_store_end_session(&vault->store, bytes_str(id),
					    &err) < 0)
			log_error("what was lent to session %s stays: %s", id,
				  err.text);
}
