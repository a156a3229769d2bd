/*
 * A leg: the stream between an edge and the courier behind one upstream TLS
 * connection that the courier owns. The edge sends structured
 * requests; what comes back are upstream's bytes as TLS delivered them,
 * which the edge parses.
 *
 * Both directions are framed: u8 kind, u24 little-endian length of the
 * payload, payload. For each request the edge sends LEG_REQUEST or LEG_PUSH
 * once, then LEG_BODY any number of times, then LEG_END. Once the edge has
 * read the whole response and found the leg fit for another request it sends
 * LEG_DONE: the courier forgets the credential, and from there to the next
 * request a byte of upstream's ends the leg. LEG_REFUSED answers a request that
 * was not sent, or whose response goes no further (the leg then ends); LEG_EOF
 * is the orderly end of upstream's stream, and an end without it is a
 * truncation. Anything else closes the leg.
 *
 * LEG_UPGRADE asks for a WebSocket in a request's place, with nothing behind
 * it: the leg's last request. Only once upstream's first words were "HTTP/1.1
 * 101" are LEG_BODY frames taken, and passed on raw; whatever else it answers
 * comes back, and nothing goes out any more. No LEG_END, no LEG_DONE: such a
 * leg ends by closing.
 *
 * The courier drops every credential the request brought, adds the real
 * one, writes the head itself, delimits the body itself (chunked unless
 * has_length) and makes the record durable before its first byte goes out.
 */
#ifndef GATEWAY_FLOW_LEG_H
#define GATEWAY_FLOW_LEG_H

#include "common/wire.h"

#define LEG_FRAME_MAX (64 * 1024) /* payload */
/* What streams goes in pieces of at most so many bytes: two with their headers
 * fill what an io reads at once, so that its buffer need not grow. */
#define LEG_PIECE_MAX (32 * 1024 - 4)
/* A LEG_PUSH may carry PUSH_UPDATES_MAX updates. */
#define LEG_HEAD_MAX (6 * 1024 * 1024)

enum leg_kind {
	LEG_REQUEST = 1, /* edge -> courier: struct leg_request */
	LEG_PUSH,	 /* edge -> courier: struct leg_push */
	LEG_BODY,	 /* edge -> courier: bytes of the body or the pack */
	LEG_END,	 /* edge -> courier: the body is complete; empty */
	LEG_DATA,	 /* courier -> edge: upstream's bytes */
	LEG_REFUSED,	 /* courier -> edge: struct leg_refused */
	LEG_EOF,	 /* courier -> edge: upstream closed in order; empty */
	LEG_DONE,	 /* edge -> courier: the response was read; empty */
	LEG_UPGRADE,	 /* edge -> courier: struct leg_upgrade */
	LEG_KIND_MAX
};

struct leg_field {
	struct bytes name;
	struct bytes value;
};

/* Where a placeholder stands that the courier puts the secret in the place
 * of, if the binding has that place. A piece of the field or of the path is
 * as the edge sent it: what does not hold the placeholder there is refused. */
enum leg_place {
	LEG_IN_FIELD,
	LEG_IN_BASIC, /* a field's value is "user:password", which the courier
			 writes as Basic */
	LEG_IN_PATH,  /* or in the query behind it */
	LEG_IN_BODY,  /* of a request that has_length */
	LEG_PLACE_MAX
};
/* How the secret is written there. */
enum leg_escape { LEG_PLAIN, LEG_PERCENT, LEG_JSON, LEG_ESCAPE_MAX };
#define LEG_SWAPS_MAX 16
struct leg_swap {
	uint8_t place;
	uint8_t escape;
	uint16_t field; /* which one; of other places 0 */
	uint64_t at;	/* the placeholder's first byte */
};

struct leg_request {
	struct bytes request_id;
	struct bytes rule;
	struct bytes method;
	struct bytes path;		/* normalised, with query */
	const struct leg_field *fields; /* without Host, framing, credentials */
	size_t fields_count;
	bool has_body;
	bool has_length;
	uint64_t body_len;
	/* In the order of places, fields and bytes. */
	const struct leg_swap *swaps;
	size_t swaps_count;
	struct bytes body_sha256; /* sigv4: of the body, 32 bytes; or empty */
};
extern const struct wire_schema leg_request_schema;

/* GET path, with what asks for a WebSocket written by the courier. */
struct leg_upgrade {
	struct bytes request_id;
	struct bytes rule;
	struct bytes path;		/* as above */
	const struct leg_field *fields; /* as above, no Sec-WebSocket-* */
	size_t fields_count;
	struct bytes key;	/* of Sec-WebSocket-Key: 16 bytes in base64 */
	struct bytes protocols; /* tokens, "a, b"; empty: none is offered */
};
extern const struct wire_schema leg_upgrade_schema;

struct leg_update {
	struct bytes old_oid;
	struct bytes new_oid;
	struct bytes ref;
	uint8_t verb; /* enum push_verb, as decided by the edge */
};

/* POST <repo path>.git/git-receive-pack. The courier writes the command
 * list from this, then the body frames as the pack. */
struct leg_push {
	struct bytes request_id;
	struct bytes rule;
	struct bytes repo_path; /* canonical: "/acme/widgets" */
	struct bytes url_path;	/* what upstream is asked for: the advertised
				   path of that repository, e.g.
				   "/acme/widgets.git" */
	const struct leg_update *updates;
	size_t updates_count;
	const struct leg_field *shallow; /* name: oid; value: empty */
	size_t shallow_count;
	const struct leg_field *options; /* name: the option; value: empty */
	size_t options_count;
	uint8_t report; /* enum push_report */
	bool has_side_band;
	bool is_atomic;
	bool is_quiet;
	bool has_pack;
	uint8_t oid_hex_len;
};
extern const struct wire_schema leg_push_schema;

struct leg_refused {
	uint16_t constraint;
	struct bytes detail;
};
extern const struct wire_schema leg_refused_schema;

/* Append a frame. 0, or -1 when out has no room or the payload is larger
 * than its kind allows. */
int leg_add_frame(struct buf *out, enum leg_kind kind, struct bytes payload);
/* Append a frame that is the encoding of msg. 0/-1. */
int leg_add_message(struct buf *out, enum leg_kind kind,
		    const struct wire_schema *schema, const void *msg,
		    struct err *err);

/* Look at the front of input (untrusted). 1: a whole frame, *payload
 * borrows, *used is its length with the header; 0: more is needed; -1: not
 * a frame. */
int leg_next(struct bytes input, enum leg_kind *kind, struct bytes *payload,
	     size_t *used);

#endif
