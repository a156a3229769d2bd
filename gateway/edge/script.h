/*
 * The policy's script: asked about every request that the rules let pass or
 * would ask a person about. It can only narrow (deny), or spare the person
 * (allow). A script that cannot answer is a refusal.
 */
#ifndef GATEWAY_EDGE_SCRIPT_H
#define GATEWAY_EDGE_SCRIPT_H

#include "gateway/edge/conn.h"

enum step script_step(struct conn *conn, enum lane_event event);
/* The session is over. */
void script_end(struct edge *edge);

#endif
