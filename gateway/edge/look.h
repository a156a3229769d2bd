/*
 * A body that a rule must see whole: held until it was decided.
 */
#ifndef GATEWAY_EDGE_LOOK_H
#define GATEWAY_EDGE_LOOK_H

#include "gateway/edge/conn.h"

/* For VERDICT_LOOK: hold the body, ask again with it; NEXT with the new
 * verdict, which is not DENY, and the held bytes as the request's body. */
enum step look_step(struct conn *conn, enum lane_event event);
/* Send what is held on, as far as upstream takes it. 1: all of it, and the
 * hold is released; 0: more after EV_UP_DRAINED; -1: refusal set. */
int look_send(struct conn *conn);
void look_release(struct conn *conn);
/* May so many bytes more be held, of all connections together? */
bool look_has_room(const struct conn *conn, uint64_t bytes);

#endif
