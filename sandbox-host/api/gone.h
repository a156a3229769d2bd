/*
 * A channel to the sandbox has ended before it answered. Where the sandbox
 * ends, or has, that is a conflict (409) and nobody's failure; so the daemon
 * is asked what the sandbox is now, and the request answered after that.
 */
#ifndef SANDBOX_HOST_API_GONE_H
#define SANDBOX_HOST_API_GONE_H

#include "sandbox-host/api/exchange.h"

/* It has ended. A sandbox that runs on is a 503 with why (which stays valid;
 * NULL: no memory). Each call on the channel may say so: the first counts. */
void gone_fail(struct exchange *exchange, const char *why);
/* A call on one has failed or was refused: the same where the channel ended,
 * else exchange_fail_outcome(). */
void gone_fail_outcome(struct exchange *exchange,
		       const struct rpc_outcome *outcome);
/* The same of a call that could not be sent. */
void gone_fail_unsent(struct exchange *exchange, const struct err *err);

#endif
