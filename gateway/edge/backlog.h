/*
 * A ledger that is slower than the session: what is recorded before it is done
 * waits in the edge, and would be lost with it. When that is much, the next
 * requests wait as well, in their order, for BACKLOG_MS at most. Who waited
 * that long is refused (audit_unavailable), and so is who comes later, without
 * a wait, until the ledger has taken some.
 */
#ifndef GATEWAY_EDGE_BACKLOG_H
#define GATEWAY_EDGE_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "gateway/edge/lane.h"

#define BACKLOG_MS	5000
#define BACKLOG_LOOK_MS 1

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
/* Where a request is about to be decided, and again where it is about to
 * leave. NEXT: it may go on; STAY: it waits here, and EV_WAKE asks for another
 * look; DENY: it waited long enough, and is refused. */
enum step backlog_step(struct conn *conn, enum lane_event event);

#endif
