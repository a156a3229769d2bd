/*
 * The minter: holds the CA's key and signs leaves for the names that the
 * asking session may reach. No network, and no file once it runs.
 */
#include "certs/minter/mint.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/openssl_words.h"
#include "gateway/keeper/keeper.h"

#define MINTS_PER_SECOND   200
#define CA_GETS_PER_SECOND 20

static void answer_mint(struct rpc_ticket ticket, const void *message, int *fd,
			void *channel_owner)
{
	struct keeper_peer *peer = channel_owner;
	struct minter *minter = peer->keeper->owner;
	struct err err = {0};
	struct leaf leaf;
	struct msg_minted minted;
	enum constraint constraint;

	(void)fd;
	constraint = mint_leaf(minter, keeper_peer_session(peer), message,
			       clock_wall_ms(), &leaf, &err);
	if (constraint != CONSTRAINT_none) {
		rpc_refuse(ticket, (uint16_t)constraint, "%s", err.text);
		return;
	}
	minted = (struct msg_minted){
		.leaf = bytes_from(leaf.der, leaf.len),
		.ca = ca_der(&minter->ca),
		.expires_ms = leaf.expires_ms,
	};
	rpc_reply(ticket, &msg_minted_schema, &minted, -1);
}

static void answer_ca_get(struct rpc_ticket ticket, const void *message,
			  int *fd, void *channel_owner)
{
	const struct keeper_peer *peer = channel_owner;
	const struct minter *minter = peer->keeper->owner;
	const struct msg_ca ca = {
		.pem = buf_view(&minter->pem),
		.pkcs12 = buf_view(&minter->pkcs12),
	};

	(void)message;
	(void)fd;
	rpc_reply(ticket, &msg_ca_schema, &ca, -1);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	(void)confine; /* nothing on disk stays reachable */
	return minter_open(keeper->owner, keeper->state_fd, clock_wall_ms(),
			   err);
}

/* A session that is sent anew keeps what it has used of its rate. */
static void on_session_open(struct keeper *keeper, struct session *session)
{
	(void)keeper;
	if (!session->owner)
		session->owner = calloc(1, sizeof(struct mint_rate));
}

static void on_session_close(struct keeper *keeper, struct session *session,
			     struct bytes reason)
{
	(void)keeper;
	(void)reason;
	free(session->owner);
	session->owner = NULL;
}

static const struct rpc_permit edge_permits[] = {
	{MSG_MINT, &msg_mint_schema, answer_mint, false, MINTS_PER_SECOND},
};

static const struct rpc_permit control_permits[] = {
	{MSG_CA_GET, &wire_empty_schema, answer_ca_get, false,
	 CA_GETS_PER_SECOND},
};

static const struct keeper_service services[] = {
	{ROLE_EDGE, edge_permits, ARRAY_SIZE(edge_permits)},
	{ROLE_CONTROL, control_permits, ARRAY_SIZE(control_permits)},
};

static const struct keeper_spec spec = {
	.role = ROLE_MINTER,
	.services = services,
	.service_count = ARRAY_SIZE(services),
	.prepare = prepare,
	.on_session_open = on_session_open,
	.on_session_close = on_session_close,
};

int main(void)
{
	static struct minter minter;
	int code;

	openssl_words_wait();
	code = keeper_main(&spec, &minter);
	minter_release(&minter);
	return code;
}
