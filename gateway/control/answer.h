/*
 * What handlers' answers share with the connection. Private to conn.c and
 * answer.c.
 */
#ifndef GATEWAY_CONTROL_ANSWER_H
#define GATEWAY_CONTROL_ANSWER_H

#include "gateway/control/conn.h"

/* The answer is written: the next request, or the end. */
void conn_request_done(struct conn *conn);

#endif
