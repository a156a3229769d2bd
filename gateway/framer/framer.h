/*
 * The framer: HTTP/2 (gateway/h2) of one upstream that gets one credential of
 * one session, for the legs of the courier that lead there. It holds no
 * secret, opens nothing, and talks to the courier alone
 * (gateway/flow/frames.h); what it sees is what upstream sends, a credential
 * that comes back as well. It has memory only as long as there is such a leg.
 *
 * What it asks upstream for in its own frames never gets there: a head
 * of its own making and a body of zeros, in whose place the courier puts what
 * is really asked for.
 *
 *	framer.c      the process
 *	connection.c  one connection: frames of the courier, one request at a
 *		      time
 *	cut.c         HTTP/2 that gateway/h2 writes, to frames for the courier
 */
#ifndef GATEWAY_FRAMER_FRAMER_H
#define GATEWAY_FRAMER_FRAMER_H

#include "gateway/flow/frames.h"
#include "gateway/h2/h2.h"
#include "gateway/keeper/keeper.h"

#define FRAMER_CONNECTIONS_MAX LEGS_OF_SESSION_MAX

struct connection;

struct framer {
	struct keeper *keeper;
	struct connection *connections;
	size_t count;
	size_t wide_count; /* of them */
};

/* The framer as a keeper; its owner is a zeroed struct framer. */
extern const struct keeper_spec framer_spec;

/* Serve a channel of the courier (fd, taken): one connection to upstream.
 * 0, or -1 with *err. */
int connection_open(struct framer *framer, int fd, struct err *err);

/* ---- cut.c ---- */

/* What gateway/h2 writes to upstream, frame by frame. */
struct cut {
	bool has_begun; /* the preface was left out */
	uint32_t asked; /* the request at hand, as the courier counts */
};

/* Make frames for the courier of what stands at the front of in, all whole
 * ones. 0, or -1: out has no room. */
int cut_frames(struct cut *cut, struct buf *in, struct buf *out);

#endif
