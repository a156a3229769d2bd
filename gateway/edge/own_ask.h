/*
 * A question of the edge's own to an upstream, between a request and its
 * answer: asked, answered, judged. What is the same for each; who asks says
 * the rest.
 */
#ifndef GATEWAY_EDGE_OWN_ASK_H
#define GATEWAY_EDGE_OWN_ASK_H

#include "gateway/edge/conn.h"

/* Each 0, or -1: refusal set. */
struct own_ask {
	int (*begin)(struct conn *conn); /* take an upstream */
	int (*send)(struct conn *conn);
	int (*head)(struct conn *conn); /* the answer's */
	int (*body)(struct conn *conn); /* upstream_span() */
	enum step (*end)(struct conn *conn);
	/* May it be sent again on another connection? */
	bool (*may_repeat)(const struct conn *conn);
};

/* A step that asks it. */
enum step own_ask_step(struct conn *conn, enum lane_event event,
		       const struct own_ask *ask);

#endif
