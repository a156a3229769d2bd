/*
 * A TCP connection to one of a few addresses that were checked: one after
 * the other, the next begun when the one before it failed or after
 * CONNECT_STAGGER_MS (RFC 8305 section 5); the first that is made wins.
 */
#ifndef GATEWAY_DIALER_CONNECT_H
#define GATEWAY_DIALER_CONNECT_H

#include "common/io.h"
#include "gateway/dialer/address.h"

#define CONNECT_ADDRESSES_MAX 4
#define CONNECT_STAGGER_MS    250
#define CONNECT_TOTAL_MS      10000

struct connecting;

struct connected {
	int fd; /* non-blocking, TCP_NODELAY; the callee's to take with
		   take_fd(), or closed afterwards. -1: none was made */
	const union address *address; /* of fd, or the last that was tried */
	bool is_late;		      /* none answered in time */
	int error;		      /* errno of the last that failed */
};
typedef void connect_fn(struct connected *connected, void *owner);

/* Begin. addresses (1..CONNECT_ADDRESSES_MAX, with port) are copied. fn is
 * called once, never inside this call. NULL when memory is out. */
struct connecting *connect_begin(struct io_loop *loop,
				 const union address *addresses, size_t count,
				 connect_fn *fn, void *owner);
/* Give up: fn is not called. */
void connect_cancel(struct connecting *connecting);

#endif
