/*
 * The body of a leg's request on its way out: delimited here, hashed where a
 * signature is over its hash, with the secret where its placeholder stood.
 */
#ifndef GATEWAY_COURIER_BODY_H
#define GATEWAY_COURIER_BODY_H

#include "gateway/courier/courier.h"

/* Before the head is written. 0, or -1 with *err. */
int body_begin(struct leg *leg, const struct msg_token *token, struct err *err);
/* The next bytes, as the edge has them. 0, or -1: they are not what was
 * announced, or upstream takes no more. */
int body_send(struct leg *leg, struct bytes payload, struct err *err);
/* Bytes of it as they go out, however it is delimited. 0, or -1. */
int body_write(struct leg *leg, struct bytes bytes);
/* All has come. 0, or -1. */
int body_end(struct leg *leg, struct err *err);
/* Forget it. */
void body_release(struct leg *leg);

#endif
