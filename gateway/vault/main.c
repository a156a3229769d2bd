/*
 * sallyport-vault: keeps every real credential, sealed. The courier gets
 * one token for one request of a session that may have it there; control
 * puts, lists and removes, and reads none. No network, no other file.
 */
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/keeper/keeper.h"
#include "gateway/vault/prints.h"
#include "gateway/vault/scope.h"
#include "gateway/vault/store.h"

#define TOKENS_PER_SECOND  20000
#define CHANGES_PER_SECOND 50
#define SYNC_EVERY_MS	   60000
#define LIST_ARENA_MAX	   (256 * 1024)

struct vault {
	struct vault_store store;
	struct io_timer *sync;
};

static void refuse(struct rpc_ticket ticket, enum constraint constraint,
		   const char *detail)
{
	rpc_refuse(ticket, (uint16_t)constraint, "%s", detail);
}

/* ---- the courier ---- */

static void give_token(struct rpc_ticket ticket, struct vault *vault,
		       const struct scope_binding *binding)
{
	struct msg_token token = {.attach = binding->attach,
				  .username = binding->username};
	struct secret value;
	struct err err;

	secret_init(&value);
	if (vault_store_get(&vault->store, binding->secret, &value, &err) < 0) {
		refuse(ticket, CONSTRAINT_credential_unavailable, err.text);
		return;
	}
	token.secret = secret_view(&value);
	/* The channel wipes its own copy once it is sent. */
	rpc_reply(ticket, &msg_token_schema, &token, -1);
	secret_release(&value);
	vault_store_used(&vault->store, binding->secret, clock_wall_ms());
}

static void answer_token(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct msg_token_get *wanted = message;
	const struct keeper_peer *peer = owner;
	const struct scope_binding *binding;
	enum constraint constraint = vault_scope_check(
		&peer->keeper->sessions, wanted, clock_wall_ms(), &binding);

	(void)fd;
	if (constraint != CONSTRAINT_none) {
		log_warn("no token for session %.*s binding %.*s: %s",
			 BYTES_ARGS(wanted->session),
			 BYTES_ARGS(wanted->binding),
			 constraint_name(constraint));
		rpc_refuse(ticket, (uint16_t)constraint,
			   "credential %.*s for %.*s:%u: %s",
			   BYTES_ARGS(wanted->binding),
			   BYTES_ARGS(wanted->host), wanted->port,
			   constraint_text(constraint));
		return;
	}
	give_token(ticket, peer->keeper->owner, binding);
}

/* The operator's own credential, for the one proxy of the configuration. */
static void answer_proxy_secret(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	struct bytes name = peer->keeper->config.proxy.secret;
	struct msg_proxy_secret answer;
	struct secret value;
	struct err err;

	(void)message;
	(void)fd;
	secret_init(&value);
	if (name.len == 0 ||
	    vault_store_get(&vault->store, name, &value, &err) < 0) {
		refuse(ticket, CONSTRAINT_credential_unavailable,
		       "the upstream proxy's secret is not there");
		return;
	}
	answer.secret = secret_view(&value);
	rpc_reply(ticket, &msg_proxy_secret_schema, &answer, -1);
	secret_release(&value);
	vault_store_used(&vault->store, name, clock_wall_ms());
}

static void answer_prints(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct msg_prints_make *wanted = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	auto_type(buf_release) struct buf prints;
	struct msg_prints answer;
	struct err err;

	(void)fd;
	buf_init(&prints, PRINTS_MESSAGE_MAX);
	if (vault_prints(&vault->store, &peer->keeper->sessions,
			 wanted->session, &prints, &err) < 0) {
		refuse(ticket, CONSTRAINT_credential_unavailable, err.text);
		return;
	}
	answer.prints = buf_view(&prints);
	rpc_reply(ticket, &msg_prints_schema, &answer, -1);
}

/* ---- control ---- */

static void refuse_err(struct rpc_ticket ticket, const struct err *err)
{
	enum constraint constraint = CONSTRAINT_internal;

	if (err->code == ERR_TOO_LARGE)
		constraint = CONSTRAINT_resource_limit;
	else if (err->code == ERR_MISSING)
		constraint = CONSTRAINT_credential_unavailable;
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
	if (record_change(keeper, name, verb, NULL) < 0) {
		refuse(ticket, CONSTRAINT_audit_unavailable,
		       constraint_text(CONSTRAINT_audit_unavailable));
		return false;
	}
	return true;
}

static void answer_put(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	const struct msg_secret *secret = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct wire_empty empty = {0};
	struct err err;

	(void)fd;
	if (secret->value.len == 0) {
		refuse(ticket, CONSTRAINT_request_malformed,
		       "the secret is empty");
		return;
	}
	if (!may_change(ticket, peer->keeper, secret->name, "put"))
		return;
	if (vault_store_put(&vault->store, secret->name, secret->value,
			    clock_wall_ms(), &err) == 0) {
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
		return;
	}
	(void)record_change(peer->keeper, secret->name, "put", err.text);
	refuse_err(ticket, &err);
}

static void answer_remove(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct msg_secret_name *secret = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct wire_empty empty = {0};
	struct err err;

	(void)fd;
	if (!may_change(ticket, peer->keeper, secret->name, "remove"))
		return;
	if (vault_store_remove(&vault->store, secret->name, &err) == 0) {
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

/* ---- life ---- */

static void on_sync(void *owner)
{
	struct vault *vault = owner;
	struct err err;

	if (vault_store_sync(&vault->store, &err) < 0)
		log_warn("when secrets were used is not written: %s", err.text);
	io_timer_set(vault->sync, SYNC_EVERY_MS);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct vault *vault = keeper->owner;
	const struct seal_source source = {
		.directory = keeper->state_fd,
		.credentials = getenv("CREDENTIALS_DIRECTORY"),
		.uid = confine->uid ? confine->uid : (uid_t)-1,
	};

	/* Before the key is read, so that no core ever holds it. */
	secret_protect_process();
	return vault_store_open(&vault->store, &source, err);
}

static int start(struct keeper *keeper, struct err *err)
{
	struct vault *vault = keeper->owner;

	vault->sync = io_timer_new(keeper->loop, on_sync, vault);
	if (!vault->sync)
		return err_set(err, ERR_SYSTEM, "start: no memory");
	io_timer_set(vault->sync, SYNC_EVERY_MS);
	return 0;
}

int main(void)
{
	static const struct rpc_permit courier_permits[] = {
		{MSG_TOKEN_GET, &msg_token_get_schema, answer_token, false,
		 TOKENS_PER_SECOND},
		{MSG_PROXY_SECRET_GET, &wire_empty_schema, answer_proxy_secret,
		 false, TOKENS_PER_SECOND},
		{MSG_PRINTS_MAKE, &msg_prints_make_schema, answer_prints, false,
		 TOKENS_PER_SECOND},
	};
	static const struct rpc_permit control_permits[] = {
		{MSG_SECRET_PUT, &msg_secret_schema, answer_put, false,
		 CHANGES_PER_SECOND},
		{MSG_SECRET_LIST, &wire_empty_schema, answer_list, false,
		 CHANGES_PER_SECOND},
		{MSG_SECRET_REMOVE, &msg_secret_name_schema, answer_remove,
		 false, CHANGES_PER_SECOND},
	};
	static const struct keeper_service services[] = {
		{ROLE_COURIER, courier_permits, ARRAY_SIZE(courier_permits)},
		{ROLE_CONTROL, control_permits, ARRAY_SIZE(control_permits)},
	};
	/* What SQLite does with the two files that it holds open; memory that
	 * is locked for a secret. */
	static const char *const syscalls[] = {
		"pread64",    "pwrite64", "fsync",     "fdatasync", "fstat",
		"newfstatat", "lseek",	  "ftruncate", "mlock",	    NULL,
	};
	static const struct keeper_spec spec = {
		.role = ROLE_VAULT,
		.services = services,
		.service_count = ARRAY_SIZE(services),
		.prepare = prepare,
		.syscalls = syscalls,
		.start = start,
	};
	static struct vault vault;
	int code = keeper_main(&spec, &vault);

	vault_store_close(&vault.store);
	return code;
}
