/*
 * The limits that a session can run into, each with its number: what one
 * sandbox may hold, ask and wait for. Those that a policy may set stand in
 * policies/network_limits.h with their defaults and caps; the others hold
 * for everybody. (Sizes of our own structures, of wire messages and of the
 * other processes' queues stand where they are used.)
 */
#ifndef GATEWAY_FLOW_LIMITS_H
#define GATEWAY_FLOW_LIMITS_H

#include "policies/network_limits.h"

/* ---- heads, of requests and responses (security A37) ---- */

#define HEAD_BYTES_MAX	    (32 * 1024)
#define HEAD_LINE_MAX	    (8 * 1024)
#define HEAD_FIELDS_MAX	    100
#define HEAD_INTERIM_MAX    8	       /* 1xx before a response (A38) */
#define GUARD_TRAILER_MAX   (8 * 1024) /* bytes of a trailer section */
#define CHUNK_EXTENSION_MAX 256	       /* bytes, with its ';' */

/* ---- connections ---- */

#define CONNECTIONS_DEFAULT 1000   /* of a session: gateway.yaml */
#define CONN_REQUESTS_MAX   100000 /* on one connection */
#define UPSTREAM_IDLE_MAX   64	   /* kept connections of a session */
#define LEGS_OF_SESSION_MAX 1024   /* upstream connections with a credential */
#define DNS_TCP_MAX	    32

/* ---- queues of a connection, in bytes ---- */

/* What a peer that stops makes us hold (security F4): a block that came, and
 * a queue of twice that, since OUT_HIGH and a block that is not sent fit. */
#define CONN_IN_MAX	  (64 * 1024)
#define CONN_OUT_HIGH	  (48 * 1024)
#define CONN_OUT_MAX	  (8 * 1024 * 1024)
#define UPSTREAM_IN_MAX	  (64 * 1024)
#define UPSTREAM_OUT_HIGH (48 * 1024)
#define UPSTREAM_OUT_MAX  (16 * 1024 * 1024)
/* What is still read of a client that was refused. */
#define LINGER_BYTES_MAX (1024 * 1024)

/* ---- times, in milliseconds ---- */

#define DEADLINE_HEAD_MS      30000  /* the first bytes, inside CONNECT */
#define DEADLINE_IDLE_MS      120000 /* to a request's complete head */
#define DEADLINE_HANDSHAKE_MS 15000
#define DEADLINE_ASK_MS	      20000  /* an answer of another process */
#define DEADLINE_BODY_MS      300000 /* of a push, without a byte */
#define DEADLINE_LOOK_MS      120000 /* for a whole body that is held */
#define UPSTREAM_CONNECT_MS   15000  /* TLS handshake, or the leg */
#define UPSTREAM_RESPONSE_MS  300000 /* silence, or a body not taken */
#define UPSTREAM_IDLE_MS      15000  /* a kept connection */
/* Where an upstream is waited for: its own deadline comes first, and says
 * who was silent. */
#define DEADLINE_UPSTREAM_MS (UPSTREAM_RESPONSE_MS + 10000)
#define DEADLINE_LINGER_MS   10000
#define TUNNEL_IDLE_MS	     3600000
#define TUNNEL_HALF_MS	     300000
#define TUNNEL_FLUSH_MS	     1000 /* of one that ended, to its peer */
#define DNS_TCP_DEADLINE_MS  10000

/* ---- HTTP/2, on either side ---- */

#define H2_STREAMS_MAX 100 /* at once, on one connection */
/* Of one field section, names and values and 32 each (RFC 9113 6.5.2). */
#define H2_SECTION_MAX HEAD_BYTES_MAX
/* Beyond that: a section that was never meant to be read. */
#define H2_SECTION_FLOOD (4 * HEAD_BYTES_MAX)
#define H2_TABLE_MAX	 4096 /* HPACK, either direction */
/* What a peer may send ahead of who reads it. */
#define H2_CLIENT_WINDOW     (128 * 1024)
#define H2_UPSTREAM_WINDOW   (1024 * 1024)
#define H2_CONNECTION_WINDOW (4 * 1024 * 1024)
/* Queues of who serves a stream. */
#define H2_STREAM_IN_MAX   (64 * 1024)
#define H2_BEHIND_IN_MAX   (256 * 1024)
#define H2_BEHIND_OUT_HIGH (256 * 1024)
/* So much for a few streams of a client's connection at one time; what the
 * others hold is small, so that one connection that stops reading, or whose
 * upstreams do, takes some 30 MiB at most (security F4). */
#define H2_WIDE_STREAMS_MAX	  8
#define H2_NARROW_CLIENT_WINDOW	  (32 * 1024)
#define H2_NARROW_UPSTREAM_WINDOW (64 * 1024)
#define H2_NARROW_STREAM_IN_MAX	  (16 * 1024)
#define H2_NARROW_BEHIND_IN_MAX	  (64 * 1024) /* a whole head fits */
#define H2_NARROW_BEHIND_OUT_HIGH (16 * 1024)
/* For a client to say more of a request that was answered before its end. */
#define H2_LINGER_MS 5000
/* A connection with streams: each of them has a shorter deadline. */
#define DEADLINE_H2_MS TUNNEL_IDLE_MS
/* Frames that carry no work, and streams that are reset, at once and by the
 * second; what a frame of ours with so many bytes of DATA earns. */
#define H2_FRAMES_MAX	 2000
#define H2_FRAMES_PER_S	 200
#define H2_FRAMES_EARNED 4
#define H2_EARNS_FROM	 256
#define H2_RESETS_MAX	 500
#define H2_RESETS_PER_S	 50

/* ---- WebSockets; the size of a message is the rule's ---- */

#define WEBSOCKET_IDLE_MS	600000
#define WEBSOCKET_TOTAL_MS	(12ull * 3600 * 1000)
#define WEBSOCKET_CLOSE_MS	3000	    /* for upstream to close as well */
#define WEBSOCKET_FRAGMENTS_MAX 1024	    /* of one message */
#define WEBSOCKET_PIECE_MAX	(64 * 1024) /* of a message, as we send it */
#define WEBSOCKET_ARRIVED_MAX	(1024 * 1024) /* bytes not read yet */
/* Pings and pongs of both sides, in each window. */
#define WEBSOCKET_CONTROLS_MAX	     100
#define WEBSOCKET_CONTROLS_WINDOW_MS 10000

/* ---- names ---- */

#define DNS_QUERY_MAX 4096 /* bytes; larger ones get FORMERR */
#define NAMES_MAX     65000
#define NAMES_REST_MS (10ull * 60 * 1000)
/* Under a wildcard of the policy, whose owner may be the sandbox's friend
 * (security C5): bytes of one label, and of the name. */
#define WILDCARD_LABEL_MAX 48
#define WILDCARD_NAME_MAX  128

/* ---- pushes ---- */

/* A pack that must be looked at is held whole, and all that are held at one
 * time are no more than one may be. */
#define PUSH_SPOOL_BYTES_MAX (1024ull * 1024 * 1024)
/* More than packcheck reads is refused at once. */
#define PUSH_CHECK_BYTES_MAX (512ull * 1024 * 1024)
/* One that passes by is only counted. */
#define PUSH_STREAM_BYTES_MAX (16ull * 1024 * 1024 * 1024)
#define PUSH_OBJECTS_MAX      20000000u
/* Pushes at one time: each holds its list of commands. */
#define PUSHES_MAX 64
/* For a packcheck, then for its answer. */
#define PACKCHECK_WAIT_MS 150000
#define PROVE_TIMEOUT_MS  240000
#define DEADLINE_PROVE_MS                                                      \
	(PACKCHECK_WAIT_MS + PROVE_TIMEOUT_MS + 2 * DEADLINE_ASK_MS)
/* What a refused client may still send before it is cut off. */
#define PUSH_DRAIN_BYTES_MAX (4ull * 1024 * 1024 * 1024)

/* ---- records ---- */

/* Refusals that get a row each; those beyond are counted in one row a second
 * and constraint (security F5). All at once, then so many a second. */
#define RECORDS_DENIED_BURST	  600
#define RECORDS_DENIED_PER_SECOND 20

#endif
