/*
 * Steps of the HTTP lane that end a client's TLS at the edge (lane.h).
 */
#ifndef GATEWAY_EDGE_TERMINATE_H
#define GATEWAY_EDGE_TERMINATE_H

#include "gateway/edge/lane.h"

/*
 * AT_MINT. NEXT: there is a leaf for the target's name, one that says no where
 * the target was denied. DENY: there is none, conn->refusal says why.
 */
enum step terminate_mint_step(struct conn *conn, enum lane_event event);

/* AT_TLS, the handshake with that leaf. NEXT: HTTP/1.1; OTHER: HTTP/2. */
enum step terminate_tls_step(struct conn *conn, enum lane_event event);

#endif
