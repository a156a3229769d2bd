/*
 * sallyport-dialer: the only process that opens connections. It answers an
 * edge with a connected descriptor, for hosts of that edge's session, at
 * addresses that it checked itself. It reads DNS answers and nothing else.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/dialer/dial.h"
#include "gateway/keeper/keeper.h"

#define DIALS_PER_SECOND	50000
#define SOURCE_DIALS_PER_SECOND 2000
#define OTHER_FILES_MAX		128 /* log, loop, DNS, other channels */

struct dialer_process {
	struct dialer dialer;
};

static void answer_edge(struct rpc_ticket ticket,
			const struct dial_outcome *outcome)
{
	const struct msg_dialed dialed = {.address =
						  bytes_str(outcome->address)};

	if (outcome->constraint == CONSTRAINT_none)
		rpc_reply(ticket, &msg_dialed_schema, &dialed, outcome->fd);
	else
		rpc_refuse(ticket, (uint16_t)outcome->constraint, "%s",
			   outcome->detail);
}

static struct rpc *courier_of(void *owner)
{
	const struct keeper_peer *courier = keeper_peer_of(owner, ROLE_COURIER);

	return courier ? courier->rpc : NULL;
}

static void answer_dial(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	struct keeper_peer *peer = owner;
	struct dialer_process *process = peer->keeper->owner;

	(void)fd;
	rpc_ticket_hold(ticket);
	if (!peer->owner) {
		rpc_refuse(ticket, CONSTRAINT_internal, "no memory");
		return;
	}
	dialer_dial(&process->dialer, peer->owner, bytes_str(peer->session),
		    message, ticket);
}

/* Of the exchange: the configuration says where. */
static void answer_source_dial(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	const struct msg_source_ref *ref = message;
	struct keeper_peer *peer = owner;
	struct dialer_process *process = peer->keeper->owner;
	const struct config_source *source =
		gateway_config_source(&peer->keeper->config, ref->name);

	(void)fd;
	rpc_ticket_hold(ticket);
	if (!peer->owner || !source || !source_is_bought(source))
		rpc_refuse(ticket, CONSTRAINT_internal, "no such endpoint");
	else
		dialer_dial_source(&process->dialer, peer->owner, source,
				   ticket);
}

static void on_peer(struct keeper *keeper, struct keeper_peer *peer)
{
	(void)keeper;
	if (peer->role == ROLE_EDGE || peer->role == ROLE_EXCHANGE)
		peer->owner = calloc(1, sizeof(struct dial_client));
}

static void on_peer_closed(struct keeper *keeper, struct keeper_peer *peer)
{
	struct dialer_process *process = keeper->owner;

	if (!peer->owner)
		return;
	dialer_cancel(&process->dialer, peer->owner, CONSTRAINT_internal);
	free(peer->owner);
	peer->owner = NULL;
}

static int on_session_change(struct keeper *keeper, struct session *session,
			     struct err *err)
{
	struct dialer_process *process = keeper->owner;
	struct keeper_peer *peer;

	(void)err;
	DL_FOREACH(keeper->peers, peer)
	{
		if (peer->owner && strcmp(peer->session, session->id) == 0)
			dialer_review(&process->dialer, peer->owner, session);
	}
	return 0;
}

static void on_session_close(struct keeper *keeper, struct session *session,
			     struct bytes reason)
{
	struct dialer_process *process = keeper->owner;
	struct keeper_peer *peer;

	(void)reason;
	DL_FOREACH(keeper->peers, peer)
	{
		if (peer->owner && strcmp(peer->session, session->id) == 0)
			dialer_cancel(&process->dialer, peer->owner,
				      CONSTRAINT_session_revoked);
	}
}

/* A channel for each edge and every socket that may be connecting, as far as
 * this host lets us. */
static size_t files_wanted(const struct gateway_config *config)
{
	size_t wanted = OTHER_FILES_MAX + config->sessions_max +
			DIALS_MAX * CONNECT_ADDRESSES_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < wanted)
		return (size_t)limit.rlim_max;
	return wanted;
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct dialer_process *process = keeper->owner;
	struct dialer *dialer = &process->dialer;

	confine->may_connect = true;
	confine->files_max = files_wanted(&keeper->config);
	dialer->loop = keeper->loop;
	dialer->sessions = &keeper->sessions;
	dialer->answer = answer_edge;
	dialer->proxy = &keeper->config.proxy;
	dialer->courier = courier_of;
	dialer->courier_owner = keeper;
	dialer->resolver = resolver_new(keeper->loop, &keeper->config, err);
	return dialer->resolver ? 0 : -1;
}

static int on_config(struct keeper *keeper, const struct gateway_config *before,
		     struct err *err)
{
	struct dialer_process *process = keeper->owner;

	(void)before;
	return resolver_fix(process->dialer.resolver, &keeper->config, err);
}

int main(void)
{
	static const struct rpc_permit edge_permits[] = {
		{MSG_DIAL, &msg_dial_schema, answer_dial, false,
		 DIALS_PER_SECOND},
	};
	static const struct rpc_permit exchange_permits[] = {
		{MSG_SOURCE_DIAL, &msg_source_ref_schema, answer_source_dial,
		 false, SOURCE_DIALS_PER_SECOND},
	};
	static const struct keeper_service services[] = {
		{ROLE_EDGE, edge_permits, ARRAY_SIZE(edge_permits)},
		{ROLE_EXCHANGE, exchange_permits, ARRAY_SIZE(exchange_permits)},
	};
	/* Sockets of its own, and c-ares's. */
	static const char *const syscalls[] = {
		"socket",      "connect", "setsockopt", "getsockopt",
		"getsockname", "writev",  NULL,
	};
	static const struct keeper_spec spec = {
		.role = ROLE_DIALER,
		.services = services,
		.service_count = ARRAY_SIZE(services),
		.prepare = prepare,
		.syscalls = syscalls,
		.on_peer = on_peer,
		.on_peer_closed = on_peer_closed,
		.on_session_change = on_session_change,
		.on_session_close = on_session_close,
		.on_config = on_config,
	};
	static struct dialer_process process;

	return keeper_main(&spec, &process);
}
