/*
 * One head through llhttp: a list of fields, and what the start line held.
 * Private to gateway/http; head.c makes requests and responses of it.
 */
#ifndef GATEWAY_HTTP_PARSE_H
#define GATEWAY_HTTP_PARSE_H

#include <llhttp.h>

#include "common/arena.h"
#include "gateway/http/guard.h"

struct parsed_head {
	struct bytes head;    /* the arena's copy, which all views point into */
	struct bytes start;   /* request: the target; response: the reason */
	struct fields fields; /* without Host, framing, hop-by-hop fields */
	struct bytes host;    /* of the Host field */
	struct bytes proxy_authorization;
	unsigned proxy_authorizations; /* how many there were */
	bool takes_trailers;	       /* TE: trailers */
	unsigned status;	       /* responses */
};

/* Parse head, which guard found complete, into views of arena. 0, or -1
 * with *fault when llhttp refuses it, or sees fields or framing that the
 * guard did not. */
int parse_head(struct arena *arena, const struct guard *guard,
	       struct bytes head, struct parsed_head *parsed,
	       struct http_fault *fault);

#endif
