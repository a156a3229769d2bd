/*
 * How a connection came and what it first said. It is the connection's until
 * it is known where that goes and what it speaks; one at rest has none.
 */
#ifndef GATEWAY_EDGE_OPENING_H
#define GATEWAY_EDGE_OPENING_H

#include "gateway/edge/turns.h"
#include "gateway/listen/accept.h"
#include "gateway/listen/hello.h"
#include "gateway/listen/socks.h"

struct opening {
	struct arrival arrival;
	struct wanted wanted;
	struct hello hello;
	struct socks socks;
	struct turn turn;
};

#endif
