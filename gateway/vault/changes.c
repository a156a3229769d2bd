#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/vault/lent.h"
#include "gateway/vault/rotate.h"
#include "gateway/vault/signing.h"
#include "gateway/vault/supply.h"

#define CHANGES_PER_SECOND 50
#define KEYS_PER_SECOND	   20
#define SIGNERS_PER_SECOND 200
#define LIST_ARENA_MAX	   (256 * 1024)

static void refuse(struct rpc_ticket ticket, enum constraint constraint,
		   const char *detail)
{
	rpc_refuse(ticket, (uint16_t)constraint, "%s", detail);
}

static void refuse_err(struct rpc_ticket ticket, const struct err *err)
{
	enum constraint constraint = CONSTRAINT_internal;

	if (err->code == ERR_TOO_LARGE)
		constraint = CONSTRAINT_resource_limit;
	else if (err->code == ERR_MISSING)
		constraint = CONSTRAINT_credential_unavailable;
	else if (err->code == ERR_UNSUPPORTED)
		constraint = CONSTRAINT_request_malformed;
	refuse(ticket, constraint, err->text);
}

/* why: what went wrong, or NULL. */
static int record_change(struct keeper *keeper, struct bytes name,
			 const char *verb, const char *why)
{
	const struct record record = {
		.kind = RECORD_SECRET_CHANGED,
		.allowed = why == NULL,
		.constraint = why ? CONSTRAINT_internal : CONSTRAINT_none,
		.host = name,
		.method = bytes_str(verb),
		.detail = bytes_str(why),
	};

	return keeper_record(keeper, &record);
}

/* What cannot be recorded does not happen: recorded first. */
static bool may_change(struct rpc_ticket ticket, struct keeper *keeper,
		       struct bytes name, const char *verb)
{
	if (!vault_name_is_valid(name)) {
		refuse(ticket, CONSTRAINT_request_malformed,
		       "a secret's name has 1 to 128 of A-Z a-z 0-9 . _ -");
		return false;
	}
	if (lent_is_named(name)) {
		refuse(ticket, CONSTRAINT_request_malformed,
		       "names that begin with " POLICY_LENT
		       " are of what is lent to one session");
		return false;
	}
	if (record_change(keeper, name, verb, NULL) < 0) {
		refuse(ticket, CONSTRAINT_audit_unavailable,
		       constraint_text(CONSTRAINT_audit_unavailable));
		return false;
	}
	return true;
}

/* The value that stands there now, for what is under way with it. */
static void keep_former(struct vault *vault, struct bytes name)
{
	struct secret value;
	struct err err;

	secret_init(&value);
	if (vault_store_get(&vault->store, name, &value, &err) == 0)
		former_keep(&vault->former, name, &value, clock_wall_ms());
	secret_release(&value);
}

/* Is it a value that can stand under that name? The ticket is refused when
 * it is not. */
static bool may_keep(struct rpc_ticket ticket, const struct msg_secret *secret,
		     const struct vault *vault)
{
	const struct gateway_config *config = &vault->keeper->config;
	const struct config_source *source;
	struct err err;

	if (gateway_config_source(config, secret->name)) {
		rpc_refuse(ticket, CONSTRAINT_request_malformed,
			   "where %.*s comes from stands in gateway.yaml",
			   BYTES_ARGS(secret->name));
		return false;
	}
	for (size_t i = 0; i < config->sources_count; i++) {
		source = &config->sources[i];
		if (source->kind == SOURCE_GITHUB_APP &&
		    bytes_equal(source->client, secret->name) &&
		    app_key_check(secret->value, &err) < 0) {
			refuse(ticket, CONSTRAINT_request_malformed, err.text);
			return false;
		}
	}
	if (signing_check(vault, secret->name, secret->value, &err) < 0) {
		refuse(ticket, CONSTRAINT_request_malformed, err.text);
		return false;
	}
	return true;
}

static void keep_value(struct rpc_ticket ticket,
		       const struct msg_secret *secret, struct vault *vault,
		       const char *verb)
{
	const struct wire_empty empty = {0};
	struct err err;

	if (secret->value.len == 0) {
		refuse(ticket, CONSTRAINT_request_malformed,
		       "the secret is empty");
		return;
	}
	if (!may_keep(ticket, secret, vault) ||
	    !may_change(ticket, vault->keeper, secret->name, verb))
		return;
	keep_former(vault, secret->name);
	if (vault_store_put(&vault->store, secret->name, secret->value,
			    clock_wall_ms(), &err) == 0) {
		supply_changed(vault, secret->name);
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
		return;
	}
	(void)record_change(vault->keeper, secret->name, verb, err.text);
	refuse_err(ticket, &err);
}

static void answer_put(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	const struct keeper_peer *peer = owner;

	(void)fd;
	keep_value(ticket, message, peer->keeper->owner, "put");
}

/* What is not there is not changed, so no row says that it may be. A name that
 * can be none is may_change()'s to refuse. */
static bool is_there(struct rpc_ticket ticket, struct vault *vault,
		     struct bytes name)
{
	if (!vault_name_is_valid(name) || lent_is_named(name) ||
	    vault_store_has(&vault->store, name))
		return true;
	rpc_refuse(ticket, CONSTRAINT_credential_unavailable,
		   "the vault has no secret %.*s", BYTES_ARGS(name));
	return false;
}

static void answer_rotate(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct msg_secret *secret = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;

	(void)fd;
	if (is_there(ticket, vault, secret->name))
		keep_value(ticket, secret, vault, "rotate");
}

/* ---- the key ---- */

static const struct bytes key_name = BYTES_LITERAL("vault key");

static void answer_key_rotate(struct rpc_ticket ticket, const void *message,
			      int *fd, void *owner)
{
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct wire_empty empty = {0};
	struct err err;

	(void)message;
	(void)fd;
	if (record_change(vault->keeper, key_name, "rotate", NULL) < 0) {
		refuse(ticket, CONSTRAINT_audit_unavailable,
		       constraint_text(CONSTRAINT_audit_unavailable));
		return;
	}
	if (vault_key_rotate(&vault->store, &err) == 0) {
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
		return;
	}
	(void)record_change(vault->keeper, key_name, "rotate", err.text);
	refuse_err(ticket, &err);
}

/* ---- the other changes ---- */

static void answer_remove(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct msg_secret_name *secret = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct wire_empty empty = {0};
	struct err err;

	(void)fd;
	if (!is_there(ticket, vault, secret->name) ||
	    !may_change(ticket, peer->keeper, secret->name, "remove"))
		return;
	if (vault_store_remove(&vault->store, secret->name, &err) == 0) {
		former_forget(&vault->former, secret->name);
		supply_changed(vault, secret->name);
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
		return;
	}
	(void)record_change(peer->keeper, secret->name, "remove", err.text);
	refuse_err(ticket, &err);
}

static void answer_list(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	auto_type(arena_release) struct arena arena;
	struct msg_secret_list list;
	struct err err;

	(void)message;
	(void)fd;
	arena_init(&arena, LIST_ARENA_MAX);
	if (vault_store_list(&vault->store, &arena, &list, &err) < 0)
		refuse_err(ticket, &err);
	else
		rpc_reply(ticket, &msg_secret_list_schema, &list, -1);
}

static void answer_sources(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct keeper_peer *peer = owner;
	auto_type(arena_release) struct arena arena;
	struct msg_source_list list;
	struct err err;

	(void)message;
	(void)fd;
	arena_init(&arena, LIST_ARENA_MAX);
	if (supply_list(peer->keeper->owner, clock_wall_ms(), &arena, &list,
			&err) < 0)
		refuse_err(ticket, &err);
	else
		rpc_reply(ticket, &msg_source_list_schema, &list, -1);
}

const struct rpc_permit vault_control_permits[] = {
	{MSG_SECRET_PUT, &msg_secret_schema, answer_put, false,
	 CHANGES_PER_SECOND},
	{MSG_SECRET_ROTATE, &msg_secret_schema, answer_rotate, false,
	 CHANGES_PER_SECOND},
	{MSG_SECRET_LIST, &wire_empty_schema, answer_list, false,
	 CHANGES_PER_SECOND},
	{MSG_SOURCE_LIST, &wire_empty_schema, answer_sources, false,
	 CHANGES_PER_SECOND},
	{MSG_SECRET_REMOVE, &msg_secret_name_schema, answer_remove, false,
	 CHANGES_PER_SECOND},
	{MSG_KEY_ROTATE, &wire_empty_schema, answer_key_rotate, false,
	 KEYS_PER_SECOND},
	{MSG_LENT_PUT, &msg_lent_schema, lent_answer_put, false,
	 CHANGES_PER_SECOND},
	{MSG_LENT_REMOVE, &msg_lent_schema, lent_answer_remove, false,
	 CHANGES_PER_SECOND},
	{MSG_SIGNER_GET, &msg_session_ref_schema, signing_answer_signer, false,
	 SIGNERS_PER_SECOND},
};
const size_t vault_control_permit_count = ARRAY_SIZE(vault_control_permits);
