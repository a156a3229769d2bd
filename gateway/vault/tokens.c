#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/vault/prints.h"
#include "gateway/vault/scope.h"
#include "gateway/vault/signing.h"
#include "gateway/vault/supply.h"
#include "policies/host.h"

#define TOKENS_PER_SECOND 20000
#define SIGNED_PER_SECOND 2000
#define NAME_MAX_LEN	  128 /* of a binding */

static void refuse(struct rpc_ticket ticket, enum constraint constraint,
		   const char *detail)
{
	rpc_refuse(ticket, (uint16_t)constraint, "%s", detail);
}

/* ---- a token for a request ---- */

/* What waits for its value: everything is checked again once it is there. */
struct asking {
	struct rpc_ticket ticket;
	struct vault *vault;
	char session[SESSION_ID_MAX + 1];
	char binding[NAME_MAX_LEN + 1];
	char host[HOST_NAME_MAX_LEN + 1];
	uint16_t port;
	uint8_t mark[DIGEST_LEN];
};

static struct msg_token_get wanted_of(const struct asking *asking)
{
	return (struct msg_token_get){
		.session = bytes_str(asking->session),
		.binding = bytes_str(asking->binding),
		.host = bytes_str(asking->host),
		.port = asking->port,
		.mark = bytes_from(asking->mark, sizeof(asking->mark)),
	};
}

static struct asking *asking_new(struct rpc_ticket ticket, struct vault *vault,
				 const struct msg_token_get *wanted)
{
	struct asking *asking = calloc(1, sizeof(*asking));

	if (!asking || wanted->session.len >= sizeof(asking->session) ||
	    wanted->binding.len >= sizeof(asking->binding) ||
	    wanted->host.len >= sizeof(asking->host) ||
	    wanted->mark.len != sizeof(asking->mark)) {
		free(asking);
		return NULL;
	}
	asking->ticket = ticket;
	asking->vault = vault;
	memcpy(asking->session, wanted->session.data, wanted->session.len);
	memcpy(asking->binding, wanted->binding.data, wanted->binding.len);
	memcpy(asking->host, wanted->host.data, wanted->host.len);
	asking->port = wanted->port;
	memcpy(asking->mark, wanted->mark.data, sizeof(asking->mark));
	return asking;
}

/* May it be had? The binding; or NULL, and the ticket is refused. */
static const struct scope_binding *check(struct rpc_ticket ticket,
					 const struct vault *vault,
					 const struct msg_token_get *wanted)
{
	const struct scope_binding *binding;
	enum constraint constraint = vault_scope_check(
		&vault->keeper->sessions, wanted, clock_wall_ms(), &binding);

	if (constraint == CONSTRAINT_none)
		return binding;
	log_warn("no token for session %.*s binding %.*s: %s",
		 BYTES_ARGS(wanted->session), BYTES_ARGS(wanted->binding),
		 constraint_name(constraint));
	rpc_refuse(ticket, (uint16_t)constraint,
		   "credential %.*s for %.*s:%u: %s",
		   BYTES_ARGS(wanted->binding), BYTES_ARGS(wanted->host),
		   wanted->port, constraint_text(constraint));
	return NULL;
}

static void on_token(const struct secret *value, const struct err *err,
		     void *owner)
{
	auto_free struct asking *asking = owner;
	const struct msg_token_get wanted = wanted_of(asking);
	const struct scope_binding *binding;
	struct msg_token token;

	if (!value) {
		refuse(asking->ticket, CONSTRAINT_credential_unavailable,
		       err->text);
		return;
	}
	binding = check(asking->ticket, asking->vault, &wanted);
	if (!binding)
		return;
	token = (struct msg_token){.attach = binding->attach,
				   .username = binding->username,
				   .secret = secret_view(value)};
	/* The channel wipes its own copy once it is sent. */
	rpc_reply(asking->ticket, &msg_token_schema, &token, -1);
}

static void answer_token(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct msg_token_get *wanted = message;
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct scope_binding *binding = check(ticket, vault, wanted);
	struct asking *asking;

	(void)fd;
	if (!binding)
		return;
	asking = asking_new(ticket, vault, wanted);
	if (!asking) {
		refuse(ticket, CONSTRAINT_internal, "memory is out");
		return;
	}
	rpc_ticket_hold(ticket);
	supply_get(vault,
		   &(const struct supply_wanted){
			   .name = binding->secret,
			   .session = session_find(&peer->keeper->sessions,
						   wanted->session),
			   .binding = binding,
		   },
		   on_token, asking);
}

/* ---- the operator's own, for the one proxy of the configuration ---- */

static void on_proxy_secret(const struct secret *value, const struct err *err,
			    void *owner)
{
	auto_free struct asking *asking = owner;
	struct msg_proxy_secret answer;

	(void)err;
	if (!value) {
		refuse(asking->ticket, CONSTRAINT_credential_unavailable,
		       "the upstream proxy's secret is not there");
		return;
	}
	answer.secret = secret_view(value);
	rpc_reply(asking->ticket, &msg_proxy_secret_schema, &answer, -1);
}

static void answer_proxy_secret(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	const struct keeper_peer *peer = owner;
	struct vault *vault = peer->keeper->owner;
	const struct supply_wanted wanted = {
		.name = peer->keeper->config.proxy.secret};
	struct asking *asking = calloc(1, sizeof(*asking));

	(void)message;
	(void)fd;
	if (!asking || wanted.name.len == 0) {
		free(asking);
		refuse(ticket, CONSTRAINT_credential_unavailable,
		       "the upstream proxy's secret is not there");
		return;
	}
	asking->ticket = ticket;
	rpc_ticket_hold(ticket);
	supply_get(vault, &wanted, on_proxy_secret, asking);
}

/* ---- fingerprints ---- */

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
	{MSG_SIGN_MAKE, &msg_sign_make_schema, signing_answer_make, false,
	 SIGNED_PER_SECOND},
};
const size_t vault_courier_permit_count = ARRAY_SIZE(vault_courier_permits);
