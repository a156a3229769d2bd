#include "gateway/exchange/exchange.h"

#include <jansson.h>

#include "common/cleanup.h"

#define DEALS_PER_SECOND 1000

static void answer_exchange(struct rpc_ticket ticket, const void *message,
			    int *fd, void *owner)
{
	const struct keeper_peer *peer = owner;

	(void)fd;
	deal_buy(peer->keeper->owner, message, ticket);
}

static void answer_token_end(struct rpc_ticket ticket, const void *message,
			     int *fd, void *owner)
{
	const struct keeper_peer *peer = owner;

	(void)fd;
	deal_end(peer->keeper->owner, message, ticket);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct exchange *exchange = keeper->owner;

	(void)confine;
	secret_protect_process();
	exchange->keeper = keeper;
	io_loop_wipe(keeper->loop);
	/* Which reads /dev/urandom. */
	json_object_seed(0);
	return tls_client_begin(&exchange->tls, keeper->config.ca_bundle,
				keeper->config.tls13_only, err);
}

static int on_config(struct keeper *keeper, const struct gateway_config *before,
		     struct err *err)
{
	struct exchange *exchange = keeper->owner;

	if (!gateway_config_tls_differs(&keeper->config, before))
		return 0;
	return tls_client_change(&exchange->tls, keeper->config.ca_bundle,
				 keeper->config.tls13_only, err);
}

static const struct rpc_permit vault_permits[] = {
	{MSG_EXCHANGE, &msg_exchange_schema, answer_exchange, false,
	 DEALS_PER_SECOND},
	{MSG_TOKEN_END, &msg_token_end_schema, answer_token_end, false,
	 DEALS_PER_SECOND},
};

static const struct keeper_service services[] = {
	{ROLE_VAULT, vault_permits, ARRAY_SIZE(vault_permits)},
};

/* Beside confine's base set: sockets come as descriptors. */
static const char *const syscalls[] = {"shutdown", "mlock", NULL};

const struct keeper_spec exchange_spec = {
	.role = ROLE_EXCHANGE,
	.services = services,
	.service_count = ARRAY_SIZE(services),
	.prepare = prepare,
	.on_config = on_config,
	.syscalls = syscalls,
};
