/*
 * A field section (RFC 9113 8.2, 8.3) on its way to a head of HTTP/1.1:
 * collected field by field as HPACK gives them (all untrusted), then checked
 * and written by our own serialisation. What the lane's guard checks anyway
 * (lengths, hosts, paths, look-alikes) is left to it.
 *
 * A CONNECT with :protocol (RFC 8441) is a request for a WebSocket, or refused:
 * it becomes the GET that HTTP/1.1 has for it, with a key that nobody else
 * sees.
 */
#ifndef GATEWAY_H2_SECTION_H
#define GATEWAY_H2_SECTION_H

#include "common/arena.h"
#include "common/buf.h"
#include "gateway/http/guard.h"

enum section_kind { SECTION_REQUEST, SECTION_RESPONSE, SECTION_TRAILERS };

enum pseudo {
	PSEUDO_METHOD,
	PSEUDO_SCHEME,
	PSEUDO_AUTHORITY,
	PSEUDO_PATH,
	PSEUDO_PROTOCOL,
	PSEUDO_STATUS,
	PSEUDO_MAX
};

struct section {
	enum section_kind kind;
	struct bytes pseudo[PSEUDO_MAX]; /* data NULL: not there */
	struct fields fields;
	struct bytes host; /* of a Host field */
	bool takes_trailers;
	bool has_length;
	bool is_websocket;	 /* written as RFC 6455 would ask for it */
	size_t bytes;		 /* by the count of 6.5.2 */
	struct http_fault fault; /* the first; none when constraint is */
	struct arena *arena;
};

/* Begin; what is collected lives in arena, which was reset. */
void section_begin(struct section *section, enum section_kind kind,
		   struct arena *arena);
/* Take a field. Faults are kept in section->fault. */
void section_add(struct section *section, struct bytes name,
		 struct bytes value);
/* Refuse it, if nothing was wrong so far. */
void section_refuse(struct section *section, enum constraint constraint,
		    const char *reason);

/* Write a request's head; is_whole: there is no body behind it. *framing is
 * how the body must follow; FRAMING_TO_CLOSE for a WebSocket's bytes. 0, or -1
 * with section->fault. */
int section_write_request(struct section *section, bool is_whole,
			  struct buf *out, enum framing *framing);
/* Write a response's head; method is the request's. 0, or -1 as above. */
int section_write_response(struct section *section, struct bytes method,
			   bool is_whole, struct buf *out,
			   enum framing *framing);
/* The response's status; 0 when it has none. */
unsigned section_status(const struct section *section);

#endif
