#include <assert.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/conn.h"

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct ask *ask = owner;
	struct conn *conn = ask->conn;

	if (!conn)
		return;
	conn->ask = NULL;
	ask->take(conn, outcome);
	lane_deliver(conn, EV_ANSWER);
}

void conn_cancel_ask(struct conn *conn)
{
	if (conn->ask)
		conn->ask->conn = NULL;
	conn->ask = NULL;
}

int conn_ask(struct conn *conn, struct rpc *rpc, const struct rpc_call *call,
	     void (*take)(struct conn *conn, struct rpc_outcome *outcome))
{
	auto_free struct ask *ask = calloc(1, sizeof(*ask));
	struct rpc_call full = *call;
	struct err err;

	assert(!conn->ask);
	if (!rpc || !ask) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "a part of the gateway is being restarted");
		return -1;
	}
	ask->conn = conn;
	ask->take = take;
	full.on_outcome = on_outcome;
	full.owner = ask;
	full.timeout_ms = full.timeout_ms ? full.timeout_ms : DEADLINE_ASK_MS;
	if (rpc_ask(rpc, &full, NULL, &err) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
		return -1;
	}
	conn->ask = take_ptr(&ask);
	return 0;
}
