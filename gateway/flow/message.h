/*
 * An HTTP/1.1 message head as our own stages see it: made by gateway/http
 * from untrusted bytes that passed the guard, or by ourselves; written by
 * gateway/http/write. Views borrow from the connection's arena, valid until
 * the next message on that side.
 */
#ifndef GATEWAY_FLOW_MESSAGE_H
#define GATEWAY_FLOW_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/fields.h"
#include "gateway/flow/limits.h"

struct leg_swap; /* gateway/flow/leg.h */

/* How a body is delimited (RFC 9112 section 6). */
enum framing {
	FRAMING_NONE,	/* there is no body */
	FRAMING_LENGTH, /* body_len bytes */
	FRAMING_CHUNKED,
	FRAMING_TO_CLOSE /* responses only: until the connection ends */
};

enum target_form {
	FORM_ORIGIN,   /* /path?query */
	FORM_ABSOLUTE, /* http://host[:port]/path?query */
	FORM_AUTHORITY /* CONNECT host:port */
};

/* A request. The head is strict: one Host, one framing, known method. */
struct request {
	struct bytes method;
	enum target_form form;
	struct bytes host;     /* from the target (absolute, authority) or Host;
				  not yet canonical, without port */
	uint16_t port;	       /* 0: none was given */
	struct bytes raw_path; /* as sent, with query; empty for CONNECT */
	struct bytes path;     /* normalised (policies/path.h), without query */
	struct bytes query;    /* as sent, without '?' */
	bool has_query;
	struct fields fields; /* Host, framing and hop-by-hop fields removed */
	enum framing framing;
	uint64_t body_len;
	bool keep_alive; /* after this request */
	bool is_http10;
	bool expects_continue;
	/* Asks for a WebSocket; the handshake is looked at by
	 * gateway/websocket/handshake. */
	bool is_websocket;
	bool takes_trailers; /* TE: trailers */
	/* For the courier, of a request with a credential (leg.h). */
	const struct leg_swap *swaps;
	size_t swaps_count;
	struct bytes body_sha256;
};

/* A response. */
struct response {
	unsigned status; /* 100..599 */
	struct bytes reason;
	struct fields fields; /* framing and hop-by-hop fields removed */
	enum framing framing;
	uint64_t body_len;
	bool keep_alive;   /* upstream may be used again after the body */
	bool is_websocket; /* 101, as was asked for */
};

#endif
