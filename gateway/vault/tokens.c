#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/vault/prints.h"
#include "gateway/vault/scope.h"
#include "gateway/vault/vault.h"

#define TOKENS_PER_SECOND 20000

static void refuse(struct rpc_ticket ticket, enum constraint constraint,
		   const char *detail)
{
	rpc_refuse(ticket, (uint16_t)constraint, "%s", detail);
}

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
	if (vault_prints(vault, &peer->keeper->sessions, wanted->session,
			 &prints, &err) < 0) {
		refuse(ticket, CONSTRAINT_credential_unavailable, err.text);
		return;
	}
	answer.prints = buf_view(&prints);
	rpc_reply(ticket, &msg_prints_schema, &answer, -1);
}

const struct rpc_permit vault_courier_permits[] = {
	{MSG_TOKEN_GET, &msg_token_get_schema, answer_token, false,
	 TOKENS_PER_SECOND},
	{MSG_PROXY_SECRET_GET, &wire_empty_schema, answer_proxy_secret, false,
	 TOKENS_PER_SECOND},
	{MSG_PRINTS_MAKE, &msg_prints_make_schema, answer_prints, false,
	 TOKENS_PER_SECOND},
};
const size_t vault_courier_permit_count = ARRAY_SIZE(vault_courier_permits);
