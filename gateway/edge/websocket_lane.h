/*
 * A WebSocket of a client: from the handshake that a rule allows to the
 * close frames. Messages are read whole, held against the rule, and written
 * again; nothing raw passes in either direction, and nothing at all before
 * upstream's 101 was checked.
 */
#ifndef GATEWAY_EDGE_WEBSOCKET_LANE_H
#define GATEWAY_EDGE_WEBSOCKET_LANE_H

struct conn;

/* A request that is_websocket was read: check the handshake. 0, or -1:
 * refusal set. */
int websocket_begin(struct conn *conn);
/* It is allowed: may it be by that rule? 0, or -1: refusal set. */
int websocket_permit(struct conn *conn);
/* Forget it. */
void websocket_release(struct conn *conn);

#endif
