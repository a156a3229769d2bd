/*
 * A connection at the door, until it is handed on or refused: its first
 * head (conn.c), or its SOCKS greeting and password (socks.c). Freed at its
 * io's IO_RELEASED.
 */
#ifndef GATEWAY_DOOR_CONN_H
#define GATEWAY_DOOR_CONN_H

#include "gateway/door/door.h"
#include "gateway/http/guard.h"
#include "gateway/listen/socks.h"

struct door_conn {
	struct door *door;
	struct visitor *visitor;
	struct io *io;
	struct guard guard;
	bool is_socks; /* its first byte said so */
	struct socks socks;
	size_t socks_read; /* of io_in(), which is kept for the edge */
	bool is_held;	   /* the answer to a wrong lease waits */
	bool is_over;
};

/* The last words: io closes when they are sent. */
void door_conn_end(struct door_conn *conn, struct bytes words);
/* Whose lease is it (untrusted)? Hand the connection on to that session's
 * edge with all that was read; or hold it, then refuse it, as its visitor's
 * failures have it. brought: it is a lease that was meant, no empty field. */
void door_conn_bring(struct door_conn *conn, struct bytes lease, bool brought);

/* ---- socks.c ---- */

/* Read on: IO_DATA came, or an answer has left. */
void door_socks_step(struct door_conn *conn);
/* The lease is not right, or nobody is there whose it is. */
void door_socks_refuse(struct door_conn *conn);

#endif
