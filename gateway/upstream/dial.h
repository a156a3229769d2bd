/*
 * Ask the dialer for a connection. What comes back is a connected socket to
 * an address that the dialer checked, or the constraint that forbids it.
 */
#ifndef GATEWAY_UPSTREAM_DIAL_H
#define GATEWAY_UPSTREAM_DIAL_H

#include "gateway/flow/target.h"
#include "gateway/keeper/keeper.h"

#define DIAL_TIMEOUT_MS 15000

struct dial_outcome {
	int fd;			    /* the callee's to take; -1 when refused */
	enum constraint constraint; /* none when fd is valid */
	struct bytes detail; /* the address, or why not; for the call only */
};
typedef void dial_fn(struct dial_outcome *outcome, void *owner);

struct dial;

/* Ask; fn is called once, later, unless cancelled. NULL with *err when it
 * cannot be asked (no dialer: constraint internal). */
struct dial *dial_start(struct keeper *keeper, const struct target *target,
			dial_fn *fn, void *owner, struct err *err);
/* Nobody waits any more. */
void dial_cancel(struct dial *dial);

/* What an rpc outcome that is a failure means: the refusal's constraint,
 * else internal. */
enum constraint constraint_of_outcome(const struct rpc_outcome *outcome);
/* The same of what asked for a connection: no answer in time is one that did
 * not come about in time. */
enum constraint constraint_of_connecting(const struct rpc_outcome *outcome);

#endif
