/*
 * The state of a client's connection that speaks HTTP/2: its streams are
 * connections of their own (h2_lane.c).
 */
#ifndef GATEWAY_EDGE_H2_LANE_H
#define GATEWAY_EDGE_H2_LANE_H

#include "gateway/edge/conn.h"

/* Serve the client's streams; NEXT: the client left; OTHER: we did. */
enum step h2_step(struct conn *conn, enum lane_event event);
/* End its session, if there is one: its streams are aborted. */
void h2_release(struct conn *conn);

#endif
