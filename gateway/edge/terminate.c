/*
 * The certificate that a client of the HTTP lane is shown, and its handshake.
 */
#include "gateway/edge/terminate.h"

#include "gateway/edge/conn.h"
#include "gateway/edge/rate.h"
#include "gateway/upstream/dial.h"

static bool is_refusal(const struct conn *conn)
{
	return conn->errand->target_verdict.kind != VERDICT_ALLOW;
}

static const struct tls_leaf *leaf_of(struct conn *conn)
{
	return tls_leaves_find(&conn->edge->leaves, conn_host(conn),
			       is_refusal(conn), clock_wall_ms());
}

static void take_minted(struct conn *conn, struct rpc_outcome *outcome)
{
	const struct msg_minted *minted = outcome->message;
	struct err err;

	if (outcome->err) {
		conn_refuse(conn, constraint_of_outcome(outcome), "%s",
			    outcome->err->text);
		return;
	}
	if (!tls_leaves_add(&conn->edge->leaves, conn_host(conn),
			    is_refusal(conn),
			    &(struct tls_leaf_der){minted->leaf, minted->ca,
						   minted->expires_ms},
			    &err))
		conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
}

static enum step ask_minter(struct conn *conn, const struct tls_server *server)
{
	struct keeper_peer *minter =
		keeper_peer_of(conn->edge->keeper, ROLE_MINTER);
	const struct msg_mint message = {
		.name = conn_host(conn),
		.public_key = tls_server_public_key(server),
		.purpose = is_refusal(conn) ? MINT_REFUSE : MINT_SERVE,
	};
	const struct rpc_call call = {
		.type = MSG_MINT,
		.schema = &msg_mint_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_minted_schema,
	};

	return conn_ask(conn, minter ? minter->rpc : NULL, &call, take_minted) <
			       0
		       ? STEP_DENY
		       : STEP_STAY;
}

/* A leaf is for the key of the edge's TLS side, which is there from then on.
 * DENY: there will be none. */
enum step terminate_mint_step(struct conn *conn, enum lane_event event)
{
	const struct tls_server *server;
	struct err err;

	if (leaf_of(conn))
		return STEP_NEXT;
	if (event != EV_ENTER)
		return STEP_DENY;
	/* Then it is one of those that say no. */
	if (!is_refusal(conn) && rate_mint(conn) < 0) {
		conn->errand->target_verdict.kind = VERDICT_DENY;
		conn->errand->target_verdict.constraint = CONSTRAINT_limit_rate;
		if (leaf_of(conn))
			return STEP_NEXT;
	}
	server = edge_tls_server(conn->edge, &err);
	if (server)
		return ask_minter(conn, server);
	conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
	return STEP_DENY;
}

static enum step begin_tls(struct conn *conn)
{
	struct err err;

	return io_tls_server(conn->client, conn->edge->server.ctx,
			     buf_view(io_in(conn->client)), &err) < 0
		       ? STEP_END
		       : STEP_STAY;
}

/* Without a certificate nothing can be said inside TLS: what is left is the
 * alert that clients name. */
static enum step refuse_hello(struct conn *conn)
{
	bool is_ours;

	if (conn->refusal.constraint == CONSTRAINT_none)
		conn_refuse(conn, CONSTRAINT_internal,
			    "there is no certificate for this name");
	is_ours = conn->refusal.constraint == CONSTRAINT_internal;
	io_tls_refuse(conn->client,
		      is_ours ? SSL_AD_INTERNAL_ERROR : SSL_AD_ACCESS_DENIED);
	return STEP_STAY;
}

static enum step give_certificate(struct conn *conn)
{
	const struct tls_leaf *leaf = leaf_of(conn);
	struct err err;

	if (!leaf || io_tls_certificate(conn->client, leaf->chain, leaf->count,
					conn->edge->server.key, &err) < 0)
		return refuse_hello(conn);
	return STEP_STAY;
}

enum step terminate_tls_step(struct conn *conn, enum lane_event event)
{
	switch ((unsigned)event) {
	case EV_ENTER:
		return begin_tls(conn);
	case EV_TLS_HELLO:
		return give_certificate(conn);
	case EV_TLS_READY:
		turn_end(conn);
		return bytes_is(io_tls_alpn(conn->client), "h2") ? STEP_OTHER
								 : STEP_NEXT;
	default:
		return STEP_END;
	}
}
