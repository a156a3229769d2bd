/*
 * Placeholders where they mean nothing, in what is not held: bodies that
 * stream, as they are and out of gzip, and messages of WebSockets. What may
 * be the beginning of one, from its eighth letter on, is held back until it is
 * known not to be, so that upstream never has more of it.
 */
#ifndef GATEWAY_EDGE_STRAY_H
#define GATEWAY_EDGE_STRAY_H

#include "gateway/edge/conn.h"

struct stray;

/* For a request whose body streams, where the session has placeholders: they
 * are looked for from here on, and refused. 0, or -1: refusal set. */
int stray_begin(struct conn *conn);
void stray_release(struct conn *conn);

/* Is one in all of these bytes, which are not sent yet, as they are or with
 * this Content-Encoding (untrusted; empty: none) undone? 0, or -1: refusal
 * set, in the name of `place`. */
int stray_check(struct conn *conn, struct bytes bytes, struct bytes encoding,
		const char *place);

#endif
