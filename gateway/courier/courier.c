#include "gateway/courier/commit_sign.h"

#include "common/cleanup.h"
#include "common/log.h"

static void answer_leg_open(struct rpc_ticket ticket, const void *message,
			    int *fd, void *owner)
{
	struct keeper_peer *peer = owner;

	leg_open(peer->keeper->owner, peer, message, take_fd(fd), ticket);
}

/* Before its first request, which need not wait for it. */
static void on_session_open(struct keeper *keeper, struct session *session)
{
	struct courier *courier = keeper->owner;
	struct err err;

	if (session_scope(session)->bindings_count > 0 &&
	    !tls_client_context(&courier->tls, &err))
		log_error("%s", err.text);
}

static int on_session_change(struct keeper *keeper, struct session *session,
			     struct err *err)
{
	(void)err;
	legs_review(keeper->owner, session->id);
	return 0;
}

static void on_session_close(struct keeper *keeper, struct session *session,
			     struct bytes reason)
{
	(void)reason;
	legs_close(keeper->owner, session->id);
}

static void on_peer_closed(struct keeper *keeper, struct keeper_peer *peer)
{
	/* An edge that is gone leaves no half-sent request behind. */
	if (peer->role == ROLE_EDGE)
		legs_close_of(keeper->owner, peer);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct courier *courier = keeper->owner;

	(void)confine;
	secret_protect_process();
	courier->keeper = keeper;
	return tls_client_begin(&courier->tls, keeper->config.ca_bundle,
				keeper->config.tls13_only, err);
}

static int on_config(struct keeper *keeper, const struct gateway_config *before,
		     struct err *err)
{
	struct courier *courier = keeper->owner;

	if (!gateway_config_tls_differs(&keeper->config, before))
		return 0;
	if (tls_client_change(&courier->tls, keeper->config.ca_bundle,
			      keeper->config.tls13_only, err) < 0)
		return -1;
	legs_distrust(courier);
	return 0;
}

static const struct rpc_permit edge_permits[] = {
	{MSG_LEG_OPEN, &msg_leg_open_schema, answer_leg_open, true, 200},
	{MSG_PRINTS_GET, &wire_empty_schema, courier_answer_prints, false, 10},
	{MSG_SIGN, &msg_sign_schema, courier_answer_sign, false,
	 SIGNED_PER_SECOND},
};

static void answer_proxy_connect(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	struct keeper_peer *peer = owner;

	proxy_connect(peer->keeper->owner, message, take_fd(fd), ticket);
}

static const struct rpc_permit dialer_permits[] = {
	{MSG_PROXY_CONNECT, &msg_proxy_connect_schema, answer_proxy_connect,
	 true, 0},
};

static const struct keeper_service services[] = {
	{ROLE_EDGE, edge_permits, ARRAY_SIZE(edge_permits)},
	{ROLE_DIALER, dialer_permits, ARRAY_SIZE(dialer_permits)},
};

/* Beside confine's base set: sockets come as descriptors, none is made but
 * a leg's pair; memory for tokens is locked. */
static const char *const syscalls[] = {"socketpair", "shutdown", "mlock", NULL};

const struct keeper_spec courier_spec = {
	.role = ROLE_COURIER,
	.services = services,
	.service_count = ARRAY_SIZE(services),
	.prepare = prepare,
	.syscalls = syscalls,
	.on_session_open = on_session_open,
	.on_session_change = on_session_change,
	.on_session_close = on_session_close,
	.on_peer_closed = on_peer_closed,
	.on_config = on_config,
};
