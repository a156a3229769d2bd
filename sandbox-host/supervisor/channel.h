/* A channel for whoever asks us something through the daemon. */
#ifndef SANDBOX_HOST_SUPERVISOR_CHANNEL_H
#define SANDBOX_HOST_SUPERVISOR_CHANNEL_H

#include "common/rpc.h"

/* Our end is *rpc, served as config says. Returns theirs, the caller's to
 * close, or -1 with *err: then *rpc is NULL. */
int channel_open(struct io_loop *loop, const struct rpc_config *config,
		 struct rpc **rpc, struct err *err);

#endif
