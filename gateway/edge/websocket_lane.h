/*
 * A WebSocket of a client: from the handshake that a rule allows to the
 * close frames. Messages are read whole, held against the rule, and written
 * again; nothing raw passes in either direction, and nothing at all before
 * upstream's 101 was checked.
 */
#ifndef GATEWAY_EDGE_WEBSOCKET_LANE_H
#define GATEWAY_EDGE_WEBSOCKET_LANE_H

#include "policies/verdict.h"

struct conn;

/* A request that is_websocket was read: check the handshake. 0, or -1:
 * refusal set. */
int websocket_begin(struct conn *conn);
/* It is allowed: may it be by that rule? 0, or -1: refusal set. */
int websocket_permit(struct conn *conn);
/* Hold what comes from now on against the rules of another verdict, which
 * allows it too. 0, or -1: they are not for WebSockets. */
int websocket_move(struct conn *conn, const struct verdict *verdict);
/* Forget it. */
void websocket_release(struct conn *conn);

/* ---- websocket_secret.c ---- */

/* Look for a token or a secret of the session's own in the handshake's query
 * or in a whole message (untrusted; the other one is empty), as in a body:
 * as it is, percent-decoded, and in the strings of what may be read as JSON.
 * 0, or -1: refusal set, also when it cannot be looked for. */
int websocket_search(struct conn *conn, struct bytes query,
		     struct bytes message);

#endif
