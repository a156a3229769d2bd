/*
 * Whose TLS handshake it is: TURNS_MAX clients' at a time, first come first
 * served. One takes tens of KiB for as long as it lasts, and those of a crowd
 * would leave holes between what stays; whoever waits has its ClientHello and
 * nothing else. A client that is slow keeps its turn for TURN_MS and no
 * longer: then the next one begins, and it goes on beside that.
 */
#ifndef GATEWAY_EDGE_TURNS_H
#define GATEWAY_EDGE_TURNS_H

#include "common/err.h"
#include "gateway/edge/lane.h"

#define TURNS_MAX 16
#define TURN_MS	  100

struct conn;
struct edge;
struct io_timer;
struct turn;

struct turns {
	struct turn *held, *awaited; /* the oldest first */
	size_t held_count;
	struct io_timer *timer; /* for the oldest that is held */
	bool is_due;		/* turns are given at the end of this one */
};

/* Of a connection's opening; it leaves before that is freed. */
struct turn {
	struct conn *conn; /* NULL: not in a list */
	bool is_held;
	uint64_t until_ms;
	struct turn *next, *prev;
};

/* 0, or -1. */
int turns_init(struct edge *edge, struct err *err);
/* NEXT: it has its turn. */
enum step turn_step(struct conn *conn, enum lane_event event);
/* The handshake is done, or nobody waits for it any more. */
void turn_end(struct conn *conn);

#endif
