/*
 * What is known about a thing that wants to leave. Plain data, borrowed;
 * everything in it is untrusted and already in its canonical form:
 * host: lower-case A-label, no trailing dot, or an address literal in
 * canonical text (IPv6 without brackets); path: as path_normalise() left it.
 */
#ifndef POLICIES_FACTS_H
#define POLICIES_FACTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/fields.h"

struct inspection;

/* A connection that is wanted. */
struct target_facts {
	struct bytes host;
	uint16_t port;
};

/* A request on it. */
struct request_facts {
	struct target_facts target;
	bool is_tls;
	struct bytes method; /* upper-case token */
	struct bytes path;   /* without query */
	struct bytes query;  /* without '?'; may be empty */
	/* Header fields without Host, framing and hop-by-hop ones; NULL: none.
	 */
	const struct fields *fields;
	bool has_body;	   /* one is announced */
	bool is_websocket; /* a checked WebSocket handshake */
	/* What the body holds (policies/inspect/inspection.h); NULL: it was
	 * not looked at yet. */
	struct inspection *body;
	uint64_t body_bytes; /* as sent, when body is there */
};

/* What an update of a ref does. */
enum push_verb {
	PUSH_CREATE,
	PUSH_UPDATE, /* fast-forward or rewrite: not known yet */
	PUSH_FAST_FORWARD,
	PUSH_REWRITE,
	PUSH_DELETE,
	PUSH_VERB_MAX
};

/* One update of one ref of a repository. */
struct push_facts {
	struct bytes ref; /* full name, as sent */
	enum push_verb verb;
};

#endif
