/*
 * What a rule asks about the nodes that a GraphQL mutation names
 * (policies/nodes.h): upstream is asked, with the rule's own credential,
 * before the mutation leaves.
 */
#ifndef GATEWAY_EDGE_VERIFY_H
#define GATEWAY_EDGE_VERIFY_H

#include "gateway/edge/conn.h"

#define DEADLINE_VERIFY_MS 30000

struct inspection;

/* Note what the verdict's rule asks of a body that it allows. 0, or -1:
 * refusal set. */
int verify_begin(struct conn *conn, struct inspection *body);
void verify_release(struct conn *conn);

/* AT_VERIFY: NEXT once upstream has said of every node what is asked, or
 * when nothing is. */
enum step verify_step(struct conn *conn, enum lane_event event);

#endif
