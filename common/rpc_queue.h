/*
 * Messages on their way out of one channel: sent at once while the socket
 * takes them, else kept in order, each with a duplicate of its descriptor.
 * Internal to rpc.c.
 */
#ifndef COMMON_RPC_QUEUE_H
#define COMMON_RPC_QUEUE_H

#include <stddef.h>

#include "common/bytes.h"
#include "common/err.h"

/* Descriptors that wait in one queue. */
#define RPC_QUEUE_FDS_MAX 64

struct rpc_queued;

/* All zero is an empty queue. */
struct rpc_queue {
	struct rpc_queued *first, *last;
	size_t bytes; /* with what keeping them takes; <= RPC_QUEUE_MAX */
	size_t fds;
};

/* Drop and wipe what waits. */
void rpc_queue_release(struct rpc_queue *queue);
/* Send or keep. fd (-1: none) stays the caller's. 0; -1: ERR_TOO_LARGE when
 * a bound forbids, ERR_CLOSED when the peer is gone, or another failure. */
int rpc_queue_send(struct rpc_queue *queue, int socket, struct bytes bytes,
		   int fd, struct err *err);
/* Send up to max of those that wait, as far as the socket takes them. */
int rpc_queue_flush(struct rpc_queue *queue, int socket, unsigned max,
		    struct err *err);

#endif
