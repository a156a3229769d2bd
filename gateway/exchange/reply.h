/*
 * The response of an endpoint (untrusted): head by the guard and llhttp, as
 * every response that we read, and a body of REPLY_BODY_MAX bytes at most.
 */
#ifndef GATEWAY_EXCHANGE_REPLY_H
#define GATEWAY_EXCHANGE_REPLY_H

#include "common/arena.h"
#include "common/err.h"
#include "gateway/http/framing.h"
#include "gateway/http/head.h"

#define REPLY_BODY_MAX (64 * 1024)

struct reply {
	const char *method; /* of the request */
	struct guard guard;
	struct arena arena;
	struct response response;
	struct body_decoder decoder;
	struct buf body;  /* may hold a token: wiped when released */
	unsigned interim; /* 1xx so far */
	bool has_head;
};

void reply_init(struct reply *reply, const char *method);
void reply_release(struct reply *reply);
/* Read from in what has come. 1: it is complete; 0: more is to come; -1 with
 * *err. */
int reply_read(struct reply *reply, struct buf *in, struct err *err);
/* The connection ended. The same, but never 0. */
int reply_end(struct reply *reply, struct err *err);

#endif
