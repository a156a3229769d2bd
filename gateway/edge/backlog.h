/*
 * A ledger that is slower than the session: what is recorded before it is done
 * waits in the edge, and when that is much, the next requests wait as well,
 * in their order, for BACKLOG_MS at most. Who still finds no room then is
 * refused (audit_unavailable), and so is who comes later, without a wait.
 */
#ifndef GATEWAY_EDGE_BACKLOG_H
#define GATEWAY_EDGE_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "gateway/edge/lane.h"

#define BACKLOG_MS	5000
#define BACKLOG_LOOK_MS 5

struct conn;
struct edge;
struct io_timer;

struct backlog {
	struct io_timer *timer;
	bool is_timed; /* somebody waits */
	bool is_long;  /* since then much is to be recorded */
	uint64_t since_ms;
};

/* 0, or -1. */
int backlog_init(struct edge *edge, struct err *err);
/* Does a request wait here? Then EV_WAKE asks for another look. */
bool backlog_holds(struct conn *conn, enum lane_event event);

#endif
